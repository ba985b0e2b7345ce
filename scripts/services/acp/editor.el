;;; editor.el --- Emacs, with acp.el, completes one edit  -*- lexical-binding: t; -*-

;; emacs --batch -L ACP_EL -l editor.el PROGRAM CWD
;; Opens CWD/note.txt, changes it without saving, lets the agent read and edit the buffer, agrees to
;; the edit, and prints what it saw as JSON.  An error is an exit code.

;;; Code:

(require 'acp)
(require 'json)

(let* ((program (pop command-line-args-left))
       (cwd (file-name-as-directory (pop command-line-args-left)))
       (note (expand-file-name "note.txt" cwd))
       (buffer (find-file-noselect note))
       (client (acp-make-client :command program :command-params '("acp") :context-buffer buffer))
       (text "") (asked nil) (diff nil) (stop nil) (problem nil))
  (with-current-buffer buffer
    (erase-buffer)
    (insert "unsaved words\n"))
  (acp-subscribe-to-notifications
   :client client
   :on-notification
   (lambda (note)
     (let ((update (map-nested-elt note '(params update))))
       (when (equal (map-elt update 'sessionUpdate) "agent_message_chunk")
         (setq text (concat text (map-nested-elt update '(content text))))))))
  (acp-subscribe-to-requests
   :client client
   :on-request
   (lambda (request)
     (let* ((id (map-elt request 'id))
            (params (map-elt request 'params))
            (path (map-elt params 'path)))
       (pcase (map-elt request 'method)
         ("session/request_permission"
          (push (map-nested-elt params '(toolCall title)) asked)
          (seq-do (lambda (it)
                    (when (equal (map-elt it 'type) "diff")
                      (setq diff (list (map-elt it 'oldText) (map-elt it 'newText)))))
                  (map-nested-elt params '(toolCall content)))
          (acp-send-response
           :client client
           :response (acp-make-session-request-permission-response :request-id id :option-id "allow_once")))
         ("fs/read_text_file"
          (acp-send-response
           :client client
           :response
           (if (get-file-buffer path)
               (acp-make-fs-read-text-file-response
                :request-id id :content (with-current-buffer (get-file-buffer path) (buffer-string)))
             (acp-make-fs-read-text-file-response
              :request-id id :error (acp-make-error :code -32002 :message "no such buffer")))))
         ("fs/write_text_file"
          (with-current-buffer (find-file-noselect path)
            (erase-buffer)
            (insert (map-elt params 'content))
            (let ((save-silently t)) (save-buffer)))
          (acp-send-response
           :client client :response (acp-make-fs-write-text-file-response :request-id id)))))))
  (cl-flet ((ask (request)
              (let ((answer nil) (deadline (+ (float-time) 120)))
                (acp-send-request :client client :request request
                                  :on-success (lambda (it) (setq answer (list it)))
                                  :on-failure (lambda (it &rest _) (setq problem it answer (list nil))))
                (while (and (not answer) (< (float-time) deadline))
                  (accept-process-output nil 0.05))
                (unless answer (error "no answer to %s" (map-elt request :method)))
                (when problem (error "refused: %S" problem))
                (car answer))))
    (ask (acp-make-initialize-request :protocol-version 1
                                      :read-text-file-capability t
                                      :write-text-file-capability t))
    (let* ((new (ask (acp-make-session-new-request :cwd cwd)))
           (session (map-elt new 'sessionId)))
      (setq stop (map-elt (ask (acp-make-session-prompt-request
                                :session-id session
                                :prompt '(((type . "text") (text . "edit the note")))))
                          'stopReason))))
  (acp-shutdown :client client)
  (princ (json-encode
          `((stop . ,stop) (text . ,text) (asked . ,(vconcat (nreverse asked)))
            (diff . ,(vconcat diff))
            (buffer . ,(with-current-buffer buffer (buffer-string)))
            (saved . ,(with-temp-buffer (insert-file-contents note) (buffer-string))))))
  (terpri)
  (kill-emacs 0))

;;; editor.el ends here
