;;; emacs.el --- Emacs completes one edit of an unsaved buffer  -*- lexical-binding: t; -*-

;; emacs --batch -Q -l emacs.el PROGRAM CWD
;; Speaks the protocol by itself: `scripts/acp-emacs' does the same with acp.el from MELPA, which not
;; every machine reaches.  Prints what it saw as JSON; an error is an exit code.

;;; Code:

(require 'json)
(require 'map)

(defvar note nil)
(defvar agent nil)
(defvar rest "")
(defvar next 0)
(defvar answers nil)
(defvar saw (list (cons 'asked 0) (cons 'text "") (cons 'diff nil)))

(defun tell (frame)
  "Send FRAME as a line."
  (process-send-string agent (concat (json-encode (cons '(jsonrpc . "2.0") frame)) "\n")))

(defun serve (id method params)
  "Answer the request ID of the agent, METHOD with PARAMS."
  (let ((path (map-elt params 'path)))
    (pcase method
      ("session/request_permission"
       (cl-incf (map-elt saw 'asked))
       (seq-do (lambda (it)
                 (when (equal (map-elt it 'type) "diff")
                   (setf (map-elt saw 'diff) (vector (map-elt it 'oldText) (map-elt it 'newText)))))
               (map-nested-elt params '(toolCall content)))
       (tell `((id . ,id) (result (outcome (outcome . "selected") (optionId . "allow_once"))))))
      ("fs/read_text_file"
       (tell (if (get-file-buffer path)
                 `((id . ,id) (result (content . ,(with-current-buffer (get-file-buffer path) (buffer-string)))))
               `((id . ,id) (error (code . -32002) (message . "no such buffer"))))))
      ("fs/write_text_file"
       (with-current-buffer (find-file-noselect path)
         (erase-buffer)
         (insert (map-elt params 'content))
         (let ((save-silently t)) (save-buffer)))
       (tell `((id . ,id) (result . ,(make-hash-table)))))
      (_ (tell `((id . ,id) (error (code . -32601) (message . "not offered"))))))))

(defun take (line)
  "Take one LINE of the agent; one that is no frame is an error."
  (let* ((frame (json-read-from-string line))
         (id (map-elt frame 'id))
         (method (map-elt frame 'method))
         (update (map-nested-elt frame '(params update))))
    (cond ((and id method) (serve id method (map-elt frame 'params)))
          (id (push (cons id frame) answers))
          ((equal (map-elt update 'sessionUpdate) "agent_message_chunk")
           (setf (map-elt saw 'text)
                 (concat (map-elt saw 'text) (map-nested-elt update '(content text))))))))

(defun ask (method params)
  "The result of METHOD with PARAMS."
  (let ((id (cl-incf next)) (deadline (+ (float-time) 120)))
    (tell `((id . ,id) (method . ,method) (params . ,params)))
    (while (and (not (assq id answers)) (< (float-time) deadline) (process-live-p agent))
      (accept-process-output nil 0.05))
    (let ((frame (cdr (assq id answers))))
      (unless (map-elt frame 'result) (error "%s: %S" method frame))
      (map-elt frame 'result))))

(require 'cl-lib)
(let* ((program (pop command-line-args-left))
       (cwd (file-name-as-directory (pop command-line-args-left)))
       (file (expand-file-name "note.txt" cwd))
       (coding-system-for-read 'utf-8) (coding-system-for-write 'utf-8))
  (setq note (find-file-noselect file))
  (with-current-buffer note (erase-buffer) (insert "unsaved words — ünsaved\n"))
  (setq agent
        (make-process :name "agent" :command (list program "acp") :connection-type 'pipe :noquery t
                      :stderr (get-buffer-create "*log*")
                      :filter (lambda (_ text)
                                (let ((lines (split-string (concat rest text) "\n")))
                                  (setq rest (car (last lines)))
                                  (mapc #'take (butlast lines))))))
  (ask "initialize" '((protocolVersion . 1)
                      (clientCapabilities (fs (readTextFile . t) (writeTextFile . t)))))
  (let ((session (map-elt (ask "session/new" `((cwd . ,cwd) (mcpServers . []))) 'sessionId)))
    (push (cons 'stop (map-elt (ask "session/prompt"
                                    `((sessionId . ,session)
                                      (prompt . [((type . "text") (text . "edit the note"))])))
                               'stopReason))
          saw))
  (push (cons 'buffer (with-current-buffer note (buffer-string))) saw)
  (push (cons 'saved (with-temp-buffer (insert-file-contents file) (buffer-string))) saw)
  (princ (json-encode saw))
  (terpri)
  (kill-emacs 0))

;;; emacs.el ends here
