import { useSignal } from "@preact/signals"
import type { Session } from "@reins/client"
import { type Action, useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { bytes } from "../words/Words.js"
import { type Conversation, ends } from "./Conversation.js"

const routings = [
  { routing: "queue", does: "after the running turn" },
  { routing: "steer", does: "into the running turn" },
  { routing: "interrupt", does: "in the place of the running turn" },
  { routing: "note", does: "to be read with the next message" }
] as const
type Routing = (typeof routings)[number]["routing"]

/** A file that goes with the next message. */
interface Attached {
  readonly upload_id: string
  readonly path: string
  readonly size: number
}

/** A place to write to the agent, with files and pictures. */
export const Composer = ({
  conversation,
  session
}: {
  readonly session: Session
  readonly conversation: Conversation
}) => {
  const text = useSignal("")
  const routing = useSignal<Routing>("queue")
  const attached = useSignal<ReadonlyArray<Attached>>([])
  const action = useAction()
  if (!mayWrite.value) return null
  const { turn } = conversation
  const isRunning = turn !== undefined && !ends.has(turn.state)
  const take = async (files: Iterable<File>) => {
    for (const file of files) {
      const uploaded = await action.run(`the upload of ${file.name}`, () => upload(session.id, file))
      if (uploaded !== undefined) attached.value = [...attached.value, uploaded]
    }
  }
  const send = () => {
    if (text.value.trim() === "") return
    void action.run("the message", async () => {
      await reins.messages.send({
        session_id: session.id,
        content: text.value,
        routing: isRunning || routing.value === "note" ? routing.value : "queue",
        ...(attached.value.length > 0 && { attachments: attached.value.map(({ upload_id }) => upload_id) })
      })
      text.value = ""
      attached.value = []
      routing.value = "queue"
    })
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <textarea
        aria-label="Message"
        placeholder={isRunning ? "Say something to the agent while it works" : "What is to be done?"}
        rows={2}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey)) return
          event.preventDefault()
          send()
        }}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])]
          if (files.length > 0) void take(files)
        }}
      />
      <AttachedFiles
        list={attached.value}
        remove={(id) => (attached.value = attached.value.filter(({ upload_id }) => upload_id !== id))}
      />
      <div class="composer-foot">
        <FileButton action={action} take={take} />
        {isRunning && (
          <select
            aria-label="Routing"
            value={routing.value}
            onChange={({ currentTarget }) => (routing.value = routingOf(currentTarget.value))}
          >
            {routings.map((each) => (
              <option key={each.routing} value={each.routing}>
                {each.routing}: {each.does}
              </option>
            ))}
          </select>
        )}
        <span class="hint">Ctrl+Enter sends</span>
        <button type="submit" class="primary" disabled={text.value.trim() === "" || action.busy.value !== undefined}>
          Send
        </button>
      </div>
      <Outcome of={action} />
    </form>
  )
}

const routingOf = (value: string): Routing => routings.find(({ routing }) => routing === value)?.routing ?? "queue"

const AttachedFiles = ({
  list,
  remove
}: {
  readonly list: ReadonlyArray<Attached>
  readonly remove: (id: string) => void
}) =>
  list.length === 0 ? null : (
    <p class="chips">
      {list.map(({ path, size, upload_id }) => (
        <span key={upload_id} class="chip">
          {path} <span class="fine">{bytes(size)}</span>
          <button type="button" class="icon" aria-label={`Leave ${path} out`} onClick={() => remove(upload_id)}>
            ×
          </button>
        </span>
      ))}
    </p>
  )

const FileButton = ({
  action,
  take
}: {
  readonly action: Action
  readonly take: (files: Iterable<File>) => Promise<void>
}) => (
  <label class="button small">
    Attach
    <input
      class="sr"
      type="file"
      multiple
      disabled={action.busy.value !== undefined}
      onChange={async ({ currentTarget }) => {
        await take([...(currentTarget.files ?? [])])
        currentTarget.value = ""
      }}
    />
  </label>
)

/** Puts a file into the folder `uploads` of the session's workspace. */
const upload = async (session_id: string, file: File): Promise<Attached> => {
  const data = new Uint8Array(await file.arrayBuffer())
  let binary = ""
  for (let at = 0; at < data.length; at += 0x8000) binary += String.fromCharCode(...data.subarray(at, at + 0x8000))
  const path = `uploads/${file.name.replace(/[^\w.-]+/g, "_") || "file"}`
  const answer = await reins.sessions.uploadFile({ session_id, path, content: btoa(binary), encoding: "base64" })
  return { upload_id: answer.upload_id, path: answer.file.path, size: answer.file.size }
}
