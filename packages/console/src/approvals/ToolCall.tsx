import { useSignal } from "@preact/signals"
import { escapeUnseen, type Interaction } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Outcome } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { countdown } from "../words/Words.js"

/** The result as it was typed: JSON where it is some, else the text itself. */
const resultOf = (text: string): { readonly as: "JSON" | "text"; readonly value: unknown } => {
  try {
    return { as: "JSON", value: JSON.parse(text) }
  } catch {
    return { as: "text", value: text }
  }
}

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2))

/** The call of a function: its input, and its answer or the form for one. */
export const ToolCall = ({ interaction }: { readonly interaction: Interaction }) => {
  const { blocks, is_error, result, state, tool } = interaction
  return (
    <>
      <p>{state === "pending" ? "The agent calls a function with this input:" : "The input was:"}</p>
      <pre class="question-text">{escapeUnseen(shown(tool?.input))}</pre>
      {state === "pending" && <CallAnswer interaction={interaction} />}
      {state === "answered" && (
        <>
          <p>{is_error ? "It failed:" : "It answered:"}</p>
          <pre class="question-text">
            {blocks === null
              ? shown(result)
              : blocks.map((block) => (block.type === "text" ? block.text : `[${block.mime_type}]`)).join("\n")}
          </pre>
        </>
      )}
    </>
  )
}

const CallAnswer = ({ interaction }: { readonly interaction: Interaction }) => {
  const { claim, expires_at, id } = interaction
  const action = useAction()
  const text = useSignal("")
  const isError = useSignal(false)
  const taken = claim === null ? "" : countdown(claim.until, now.value)
  const left = countdown(expires_at, now.value)
  const timer = (
    <p class="fine" role="timer">
      {left === "" ? "The time to answer is over." : `Unanswered in ${left}: the agent goes on without an answer`}
    </p>
  )
  if (taken !== "")
    return (
      <>
        <p class="fine">A program works on it. Others can answer in {taken}.</p>
        {timer}
      </>
    )
  if (!mayWrite.value) return <p class="fine">Only people who may write in this workspace can answer.</p>
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void action.run("the answer", () =>
          reins.interactions.answer({ interaction_id: id, result: resultOf(text.value).value, is_error: isError.value })
        )
      }}
    >
      <textarea
        aria-label="Result"
        placeholder="Text or JSON for the agent"
        rows={3}
        required
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      {text.value !== "" && <p class="fine">Sent as {resultOf(text.value).as}.</p>}
      <label class="fine">
        <input
          type="checkbox"
          checked={isError.value}
          onInput={({ currentTarget }) => (isError.value = currentTarget.checked)}
        />{" "}
        The call failed
      </label>
      <div class="answers">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Answer
        </button>
      </div>
      {timer}
      <Outcome of={action} />
    </form>
  )
}
