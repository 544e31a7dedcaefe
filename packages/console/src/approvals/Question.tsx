import { useSignal } from "@preact/signals"
import { escapeUnseen, type FormField, type Interaction, nothingTold } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Outcome, State, Time } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { RaiseBudget } from "../usage/BudgetForm.js"
import { countdown } from "../words/Words.js"
import { FormFields, type Values, valuesOf } from "./FormFields.js"
import { Request } from "./Request.js"
import { ToolCall } from "./ToolCall.js"

/** The kind of a question as people say it. */
const kindWord = (kind: Interaction["kind"]): string => (kind === "tool_call" ? "function" : kind)

/** A question of an agent, with its possible answers, or the answer that it was given. */
export const Question = ({
  agent,
  interaction
}: {
  readonly interaction: Interaction
  /** The name of the agent that asks, where it is known. */
  readonly agent?: string
}) => {
  const { answer, kind, note, options, state, url } = interaction
  const description = interaction.description ?? (kind === "approval" ? nothingTold : null)
  // A person knows the session by its title, and not by its id.
  const title = escapeUnseen(interaction.title.replace(/ (?:sess|turn|key|wsp)_\w+/, ""))
  return (
    <section class={`question ${state}`} aria-label={title}>
      <p class="question-title">
        <State of={state === "pending" ? "requires_action" : state} as={state === "pending" ? kindWord(kind) : state} />{" "}
        {title}
      </p>
      {description !== null &&
        (kind === "budget" ? (
          <p>The next model call of the turn waits, and goes out when the budget is raised.</p>
        ) : (
          <Request title={title} description={description} agent={agent} />
        ))}
      {url !== null && (
        <p>
          The agent asks you to open{" "}
          <a href={url} target="_blank" rel="noreferrer noopener">
            {url}
          </a>
        </p>
      )}
      {kind === "tool_call" && <ToolCall interaction={interaction} />}
      {kind === "tool_call" ? (
        interaction.resolved_at !== null && (
          <p class="fine">
            <Time at={interaction.resolved_at} />
          </p>
        )
      ) : state === "pending" ? (
        <Answers interaction={interaction} />
      ) : (
        <p class="fine">
          {answer === null ? "No answer was given." : `${nameOf(options, answer)}.`} {note !== null && `“${note}” `}
          {interaction.resolved_at !== null && <Time at={interaction.resolved_at} />}
        </p>
      )}
    </section>
  )
}

const nameOf = (options: Interaction["options"], id: string): string =>
  options.find((each) => each.id === id)?.name ?? id

const Answers = ({ interaction }: { readonly interaction: Interaction }) => {
  const { default: fallback, expires_at, form, id, kind, options } = interaction
  const action = useAction()
  const note = useSignal("")
  const isNoted = useSignal(false)
  const values = useSignal<Values>(initialOf(form))
  if (!mayWrite.value) return <p class="fine">Only people who may write in this workspace can answer.</p>
  const answer = (option: Interaction["options"][number]) =>
    action.run("the answer", () =>
      reins.interactions.answer({
        interaction_id: id,
        answer: option.id,
        ...(note.value !== "" && { note: note.value }),
        ...(form !== null && option.kind === "accept" && { content: valuesOf(form, values.value) })
      })
    )
  const left = countdown(expires_at, now.value)
  if (kind === "budget") {
    const ends = options.map((option) => (
      <button key={option.id} type="button" disabled={action.busy.value !== undefined} onClick={() => answer(option)}>
        {option.name}
      </button>
    ))
    return (
      <>
        {interaction.budget_of === null ? (
          <p class="answers">{ends}</p>
        ) : (
          <RaiseBudget id={interaction.budget_of}>{ends}</RaiseBudget>
        )}
        <p class="fine" role="timer">
          {left === "" ? "Nobody raised it in time." : `The turn ends in ${left}`}
        </p>
        <Outcome of={action} />
      </>
    )
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const accept = options.find(({ kind }) => kind === "accept")
        if (accept !== undefined) void answer(accept)
      }}
    >
      {form !== null && <FormFields form={form} values={values} id={id} />}
      {isNoted.value && (
        <textarea
          aria-label="Note to the agent"
          placeholder="Tell the agent why, or how to do it instead"
          rows={2}
          maxLength={10_000}
          value={note.value}
          onInput={({ currentTarget }) => (note.value = currentTarget.value)}
        />
      )}
      <div class="answers">
        {options.map((option, index) => (
          <button
            key={option.id}
            type={form !== null && option.kind === "accept" ? "submit" : "button"}
            class={index === 0 ? "primary" : ""}
            disabled={action.busy.value !== undefined}
            onClick={form !== null && option.kind === "accept" ? undefined : () => void answer(option)}
          >
            {option.name}
            {option.id === fallback && <small> (default)</small>}
          </button>
        ))}
        {!isNoted.value && (
          <button type="button" class="link" onClick={() => (isNoted.value = true)}>
            Add a note
          </button>
        )}
      </div>
      <p class="fine" role="timer">
        {left === ""
          ? "The time to answer is over."
          : fallback === null
            ? `Unanswered in ${left}: the agent goes on without an answer`
            : `${answeredBy(nameOf(options, fallback))} automatically in ${left}`}
      </p>
      <Outcome of={action} />
    </form>
  )
}

/** The answer as a thing that happened. */
const answeredBy = (name: string): string =>
  /^reject/i.test(name) ? "Rejected" : /^(?:deny|decline)/i.test(name) ? "Declined" : `“${name}” is chosen`

const initialOf = (form: ReadonlyArray<FormField> | null): Values =>
  Object.fromEntries((form ?? []).flatMap(({ default: value, name }) => (value === null ? [] : [[name, value]])))
