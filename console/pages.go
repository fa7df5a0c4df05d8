package console

import "net/http"

func failPage(w http.ResponseWriter, r *http.Request, status int, field, text string) {
	http.Error(w, text, status)
}
