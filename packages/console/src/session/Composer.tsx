import { useSignal } from "@preact/signals"
import type { Session } from "@reins/client"
import { useRef } from "preact/hooks"
import { agentCan, agentName } from "../agents/AgentNames.js"
import { type Action, useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { bytes } from "../words/Words.js"
import { type Conversation, ends } from "./Conversation.js"
import { ModelPicker } from "./ModelPicker.js"
import { Queue } from "./Queue.js"
import { completed, type Suggestion, SuggestionList, useSuggestions, wordAt } from "./Suggestions.js"

/** The ways of a message while a turn runs. The agent has to be able to take some of them. */
const routings = [
  { routing: "queue", does: "After this turn" },
  { routing: "steer", does: "Now, into this turn" },
  { routing: "interrupt", does: "Stop, and do this" },
  { routing: "note", does: "With my next message" }
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
  reload,
  revision,
  session
}: {
  readonly session: Session
  readonly conversation: Conversation
  /** Reads the session again. */
  readonly reload: () => void
  /** Moves with the conversation, which stays the same object: a component with equal properties is not drawn again. */
  readonly revision: number
}) => {
  const text = useSignal("")
  const routing = useSignal<Routing>("queue")
  const attached = useSignal<ReadonlyArray<Attached>>([])
  const action = useAction()
  if (!mayWrite.value) return null
  const { turn } = conversation
  const isRunning = turn !== undefined && !ends.has(turn.state)
  const { provider_id } = session.harness
  const offered = routings.filter(
    ({ routing }) => (routing !== "steer" && routing !== "interrupt") || agentCan(provider_id, routing)
  )
  const take = async (files: Iterable<File>) => {
    for (const file of files) {
      const uploaded = await action.run(`the upload of ${file.name}`, () => upload(session.id, file))
      if (uploaded !== undefined) attached.value = [...attached.value, uploaded]
    }
  }
  const cursor = useSignal(0)
  const at = useSignal(0)
  const word = wordAt(text.value, cursor.value)
  const suggestions = useSuggestions(session.id, conversation.commands, word)
  const chosen = suggestions.value[Math.min(at.value, suggestions.value.length - 1)]
  const area = useRef<HTMLTextAreaElement>(null)
  const put = (given: string, place: number) => {
    text.value = given
    cursor.value = place
    at.value = 0
    requestAnimationFrame(() => {
      area.current?.focus()
      area.current?.setSelectionRange(place, place)
    })
  }
  const choose = ({ text: given }: Suggestion) => {
    if (word !== undefined) put(...completed(text.value, word, given))
  }
  /** True for a key that the suggestions have taken. */
  const isForSuggestions = (key: string): boolean => {
    const last = suggestions.value.length - 1
    if (chosen === undefined) return false
    if (key === "ArrowDown") at.value = Math.min(last, at.value + 1)
    else if (key === "ArrowUp") at.value = Math.max(0, at.value - 1)
    else if (key === "Escape") suggestions.value = []
    else if (key === "Tab" || key === "Enter") choose(chosen)
    else return false
    return true
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
      <Queue conversation={conversation} revision={revision} edit={(given) => put(given, given.length)} />
      <SuggestionList list={suggestions.value} at={Math.min(at.value, suggestions.value.length - 1)} choose={choose} />
      <textarea
        ref={area}
        aria-label="Message"
        aria-controls={chosen === undefined ? undefined : "suggestions"}
        placeholder={`Message to ${agentName(provider_id)}`}
        rows={2}
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value
          cursor.value = currentTarget.selectionStart
          at.value = 0
        }}
        onKeyDown={(event) => {
          const { ctrlKey, key, metaKey, shiftKey } = event
          if (!ctrlKey && !metaKey && !shiftKey && isForSuggestions(key)) return event.preventDefault()
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
        <ModelPicker session={session} action={action} changed={reload} />
        {isRunning && (
          <select
            aria-label="When"
            value={routing.value}
            onChange={({ currentTarget }) => (routing.value = routingOf(currentTarget.value))}
          >
            {offered.map((each) => (
              <option key={each.routing} value={each.routing}>
                {each.does}
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
