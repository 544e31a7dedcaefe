import { useSignal } from "@preact/signals"
import { type ApprovalSubject, changedLines, type Interaction, nothingTold, shownName } from "@reins/client"
import { useEffect, useRef } from "preact/hooks"
import { mayWrite } from "../inbox/Workspace.js"
import { State, Time } from "../ui/Basics.js"
import { count } from "../words/Words.js"
import { leastAgeMs, useAllowKey } from "./AllowKey.js"
import { type Answer, Answers, isLeave, nameOf, useAnswer } from "./Answers.js"
import { Request } from "./Request.js"
import { Subject } from "./Subject.js"
import { ToolCall } from "./ToolCall.js"

/** The kind of a question as people say it. */
const kindWord = (kind: Interaction["kind"]): string => (kind === "tool_call" ? "function" : kind)

/** The lines of each change that are drawn before somebody asks for all, and the most that are drawn then. */
const fewLines = 400
const mostLines = 5000

interface QuestionProps {
  readonly interaction: Interaction
  /** The name of the agent that asks, where it is known. */
  readonly agent?: string | undefined
}

/** A question of an agent, with its possible answers, or the answer that it was given. */
export const Question = (props: QuestionProps) =>
  props.interaction.kind === "approval" && props.interaction.state === "pending" ? (
    <OpenApproval {...props} />
  ) : (
    <OtherQuestion {...props} />
  )

/** The lines of the longest change of a subject. */
const longestOf = ({ edits }: ApprovalSubject): number => Math.max(0, ...edits.map((edit) => changedLines(edit).length))

/** An approval that waits. It has a strong button, and the key that allows it, only where all of it is shown. */
const OpenApproval = ({ agent, interaction }: QuestionProps) => {
  const { options, subject } = interaction
  const isOpened = useSignal(false)
  const answer = useAnswer(interaction)
  const first = useRef(subject?.digest)
  const isFresh = useIsFresh(subject?.digest)
  const longest = subject === null ? 0 : longestOf(subject)
  const most = isOpened.value ? mostLines : fewLines
  const isWhole = subject?.complete === true && longest <= most
  const leave = options.find(isLeave)
  const place = useAllowKey(subject?.digest ?? "", isWhole && mayWrite.value, () => {
    if (leave !== undefined) void answer.give(leave)
  })
  return (
    <section class="question pending" aria-label={titleOf(interaction)} ref={place}>
      <Title interaction={interaction} />
      {subject === null ? (
        <Request title={titleOf(interaction)} description={interaction.description ?? nothingTold} agent={agent} />
      ) : (
        <Subject subject={subject} agent={agent} mostLines={most} />
      )}
      {longest > fewLines && !isOpened.value && (
        <button type="button" class="small" onClick={() => (isOpened.value = true)}>
          Show all {count(longest, "line")}
        </button>
      )}
      {subject !== null && first.current !== subject.digest && (
        <p class="notice" role="status">
          The agent has changed this since it asked.
        </p>
      )}
      <Answers interaction={interaction} answer={answer} isWhole={isWhole && !isFresh} />
    </section>
  )
}

/** True for a moment after a subject has taken the place of another one, so that nobody allows what comes under their pointer. */
const useIsFresh = (digest: string | undefined): boolean => {
  const settled = useSignal(digest)
  useEffect(() => {
    const timer = setTimeout(() => (settled.value = digest), leastAgeMs)
    return () => clearTimeout(timer)
  }, [digest, settled])
  return settled.value !== digest
}

const OtherQuestion = ({ agent, interaction }: QuestionProps) => {
  const { kind, resolved_at, state, url } = interaction
  const answer = useAnswer(interaction)
  return (
    <section class={`question ${state}`} aria-label={titleOf(interaction)}>
      <Title interaction={interaction} />
      <Body interaction={interaction} agent={agent} />
      {url !== null && (
        <p>
          The agent asks you to open{" "}
          <a href={url} target="_blank" rel="noreferrer noopener">
            {url}
          </a>
        </p>
      )}
      {kind === "tool_call" ? (
        <>
          <ToolCall interaction={interaction} />
          {resolved_at !== null && (
            <p class="fine">
              <Time at={resolved_at} />
            </p>
          )}
        </>
      ) : (
        <End interaction={interaction} answer={answer} />
      )}
    </section>
  )
}

/** A person knows the session by its title, and not by its id. */
const titleOf = ({ title }: Interaction): string => shownName(title.replace(/ (?:sess|turn|key|wsp)_\w+/, ""))

const Title = ({ interaction }: QuestionProps) => {
  const { kind, state } = interaction
  return (
    <p class="question-title">
      <State of={state === "pending" ? "requires_action" : state} as={state === "pending" ? kindWord(kind) : state} />{" "}
      {titleOf(interaction)}
    </p>
  )
}

/** The question beyond its title. */
const Body = ({ agent, interaction }: QuestionProps) => {
  const { kind, subject } = interaction
  if (subject !== null) return <Subject subject={subject} agent={agent} mostLines={fewLines} />
  const description = interaction.description ?? (kind === "approval" ? nothingTold : null)
  if (description === null) return null
  return kind === "budget" ? (
    <p>The next model call of the turn waits, and goes out when the budget is raised.</p>
  ) : (
    <Request title={titleOf(interaction)} description={description} agent={agent} />
  )
}

/** The possible answers, or the one that was given. */
const End = ({ answer: giving, interaction }: QuestionProps & { readonly answer: Answer }) => {
  const { answer, note, options, resolved_at, state } = interaction
  if (state === "pending") return <Answers interaction={interaction} answer={giving} isWhole={true} />
  return (
    <p class="fine">
      {answer === null ? "No answer was given." : `${nameOf(options, answer)}.`} {note !== null && `“${note}” `}
      {resolved_at !== null && <Time at={resolved_at} />}
    </p>
  )
}
