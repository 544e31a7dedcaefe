import { useSignal } from "@preact/signals"
import type { MergeRequest } from "@reins/client"
import type { TargetedKeyboardEvent } from "preact"
import { Fault } from "../api/Failure.js"
import { useAction } from "../api/Loading.js"
import { sentenceOf } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { Field, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { lookAt } from "./LookAt.js"

const mostText = 4_000

/** The words that were not sent yet, by their place. They last as long as the page. */
const unsent = new Map<string, string>()

interface ReplyProps {
  readonly request: MergeRequest
  /** The thread to answer in; undefined for the whole. */
  readonly threadId?: string
  /** Called once the forge was read again. */
  readonly done: () => void
}

/** A place to comment on the forge. It keeps what was written until that stands there. */
export const ReplyBox = ({ done, request, threadId }: ReplyProps) => {
  const place = `${request.id} ${threadId ?? ""}`
  const action = useAction()
  const text = useSignal(unsent.get(place) ?? "")
  const isOpen = useSignal(threadId === undefined || text.peek() !== "")
  if (!request.actions.includes("reply")) return null
  if (!isOpen.value)
    return (
      <p class="end">
        <button type="button" class="small" onClick={() => (isOpen.value = true)}>
          Reply
        </button>
      </p>
    )
  const write = (words: string) => {
    text.value = words
    if (words === "") unsent.delete(place)
    else unsent.set(place, words)
  }
  const send = () =>
    action.run("the forge", async () => {
      if (text.value.trim() === "") throw new Fault("text", "Write at least one word.")
      const { operation } = await reins.mergeRequests.reply({
        merge_request_id: request.id,
        text: text.value,
        ...(threadId !== undefined && { thread_id: threadId })
      })
      const { error, state } = await reins.jobs.wait(operation)
      if (error !== null && state !== "succeeded") throw new Fault("text", sentenceOf(error.code, error.message).text)
      write("")
      isOpen.value = threadId === undefined
      await lookAt(request.id)
      done()
    })
  const isBusy = action.busy.value !== undefined
  return (
    <Form
      of={action}
      class="reply"
      send={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <Field
        label={threadId === undefined ? "Comment" : "Your reply"}
        hint="It stands on the forge under the account of the connection. Markdown works."
      >
        <textarea
          name="text"
          rows={3}
          maxLength={mostText}
          value={text.value}
          readOnly={isBusy}
          onInput={({ currentTarget }) => write(currentTarget.value)}
          onKeyDown={submitByKey}
        />
      </Field>
      <p class="end">
        {threadId !== undefined && (
          <button type="button" class="small" disabled={isBusy} onClick={() => (isOpen.value = false)}>
            Cancel
          </button>
        )}
        <button type="submit" class="primary small" disabled={isBusy}>
          {threadId === undefined ? "Comment" : "Reply"}
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

/** Sends it by Ctrl+Enter, as forges do. */
const submitByKey = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
}
