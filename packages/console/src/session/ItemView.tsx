import type { Message, TurnSnapshot } from "@reins/client"
import { memo } from "preact/compat"
import { authorName } from "../agents/People.js"
import { reasonInFull } from "../api/Reasons.js"
import { Question } from "../approvals/Question.js"
import { workspace } from "../inbox/Workspace.js"
import { PlanView } from "../tools/PlanView.js"
import { ToolCard } from "../tools/ToolCard.js"
import { Copy, State, Time } from "../ui/Basics.js"
import { Prose } from "../ui/Prose.js"
import { bytes, count, dollars, duration, plain, tokens } from "../words/Words.js"
import { ArtifactCard } from "./ArtifactCard.js"
import type { Item } from "./Conversation.js"
import { MediaView } from "./MediaView.js"
import { Picture, pictureType } from "./Picture.js"

interface ItemViewProps {
  readonly item: Item
  readonly sessionId: string
  /** The name of the agent. */
  readonly agent: string
}

/** One thing of a conversation. It is drawn anew only when it has changed. */
export const ItemView = memo(({ agent, item, sessionId }: ItemViewProps) => {
  switch (item.kind) {
    case "message":
      return <MessageView message={item.message} sessionId={sessionId} />
    case "words":
      return item.words === "reasoning" ? (
        <Reasoning text={item.text} isDone={item.sealed} />
      ) : (
        <div class="answer" title={new Date(item.at).toLocaleString()}>
          <Prose text={item.text} isGrowing={!item.sealed} />
          {item.sealed && <Copy text={item.text} />}
        </div>
      )
    case "tool":
      return <ToolCard tool={item.tool} began={item.at} ended={item.ended} />
    case "plan":
      return <PlanView plan={item.plan} />
    case "media":
      return <MediaView media={item.media} />
    case "question":
      return <Question interaction={item.interaction} agent={agent} />
    case "turn":
      return <TurnEnd turn={item.turn} />
    case "changeset": {
      const { additions, deletions, file_count, origin, reason, state } = item.changeset
      return (
        <p class="card">
          <State of={state} as={`changeset ${state}`} />{" "}
          {state === "ready" ? (
            <>
              <span class="delta">
                {count(file_count, "file")} <ins>+{additions}</ins> <del>−{deletions}</del>
              </span>{" "}
              {origin === "salvage" && "· what an ended turn left behind "}
              <a class="button small" href={`sessions/${sessionId}/review/${item.id}`}>
                Review
              </a>
            </>
          ) : (
            (reason ?? "")
          )}
        </p>
      )
    }
    case "delivery": {
      const { commit, state, step, target_ref } = item.delivery
      return (
        <p class="card">
          <State of={state} as={`delivery ${state}`} /> {target_ref}
          {commit !== null && (
            <>
              {" "}
              <code>{commit.slice(0, 10)}</code>
            </>
          )}{" "}
          {reasonInFull(item.delivery) || (step === null ? "" : `${stepName(step.kind)} ${step.outcome}`)}
        </p>
      )
    }
    case "merge_request": {
      const { base_branch, number, state, web_url } = item.mergeRequest
      return (
        <p class="card">
          <State of={state} as={`merge request ${state}`} />{" "}
          {web_url === null ? (
            `into ${base_branch}`
          ) : (
            <a href={web_url} target="_blank" rel="noreferrer noopener">
              #{number} into {base_branch}
            </a>
          )}{" "}
          {reasonInFull(item.mergeRequest)}
        </p>
      )
    }
    case "artifact":
      return <ArtifactCard artifact={item.artifact} isDeleted={item.isDeleted} />
    case "notice":
      return <p class={`notice ${item.tone}`}>{item.text}</p>
  }
})

const routingWords = {
  steer: "into the running turn",
  interrupt: "instead of the running turn",
  note: "with the next message"
} as const

const stepNames: Readonly<Record<string, string>> = { materialize: "commit", observe: "check" }

const stepName = (kind: string): string => stepNames[kind] ?? kind

const MessageView = ({ message, sessionId }: { readonly message: Message; readonly sessionId: string }) => (
  <article class={`message ${message.role}`}>
    <p class="fine">
      {message.kind === "message" ? authorName(message.author, workspace.value?.id) : plain(message.kind)}
      {message.routing !== "queue" && ` · ${routingWords[message.routing]}`} · <Time at={message.created_at} />
      <Copy
        label="Copy"
        text={message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n")}
      />
    </p>
    {message.content.map((block, index) =>
      block.type === "text" ? (
        <Prose key={`${index}`} text={block.text} />
      ) : (
        <span key={block.upload_id}>
          <span class="chip">
            {block.path} <span class="fine">{bytes(block.size)}</span>
          </span>
          {block.place === "workspace" && pictureType(block.path) !== undefined && (
            <Picture path={block.path} sessionId={sessionId} />
          )}
        </span>
      )
    )}
  </article>
)

const Reasoning = ({ isDone, text }: { readonly text: string; readonly isDone: boolean }) => (
  <details class="reasoning">
    <summary>{isDone ? "Reasoning" : "Reasoning …"}</summary>
    <Prose text={text} isGrowing={!isDone} />
  </details>
)

const TurnEnd = ({ turn }: { readonly turn: TurnSnapshot }) => {
  const { cost_usd, input_tokens, output_tokens } = turn.usage
  return (
    <p class="turn-end">
      <State of={turn.state} /> {reasonInFull(turn)}{" "}
      <span class="fine">
        <a
          href={`sessions/${turn.session_id}#${turn.id}`}
          title={new Date(turn.finished_at ?? turn.created_at).toLocaleString()}
        >
          Turn {turn.ordinal}
        </a>
        {turn.started_at !== null && turn.finished_at !== null && ` · ${duration(turn.started_at, turn.finished_at)}`}
        {input_tokens !== null && ` · ${tokens(input_tokens)} in, ${tokens(output_tokens)} out`}
        {cost_usd !== null && ` · ${dollars(cost_usd)}`}
        {turn.acknowledged_at !== null && " · acknowledged"}
      </span>
    </p>
  )
}
