import type { ToolPayload } from "@reins/client"
import { State } from "../ui/Basics.js"
import { MediaView } from "./MediaView.js"

/** A tool that the agent called: a line with its state, which unfolds to what went in and came out. */
export const ToolCard = ({ tool }: { readonly tool: ToolPayload }) => {
  const { diffs, input, kind, locations, media, output_text, state, title, truncated } = tool
  const line = lineOf(input)
  return (
    <details class="tool">
      <summary>
        <State of={state} /> <span class="tool-title">{title}</span>
        {line !== "" && <code>{line}</code>}
        <span class="fine">{kind}</span>
      </summary>
      {locations.length > 0 && (
        <p class="fine">{locations.map(({ line, path }) => (line === null ? path : `${path}:${line}`)).join(", ")}</p>
      )}
      {isFull(input) && <code class="block">{JSON.stringify(input, null, 2)}</code>}
      {diffs.map(({ new_text, old_text, path }) => (
        <div key={path} class="tool-diff">
          <p class="fine">{path}</p>
          <code class="block">
            {(old_text ?? "")
              .split("\n")
              .map((text, at) => (text === "" ? null : <del key={`${at}`}>{`- ${text}\n`}</del>))}
            {new_text.split("\n").map((text, at) => (text === "" ? null : <ins key={`${at}`}>{`+ ${text}\n`}</ins>))}
          </code>
        </div>
      ))}
      {output_text !== null && output_text !== "" && <code class="block">{output_text}</code>}
      {media.map((each, at) => (
        <MediaView key={`${at}`} media={each} />
      ))}
      {truncated && <p class="fine">What came out was cut off.</p>}
    </details>
  )
}

const isFull = (input: unknown): boolean => typeof input === "object" && input !== null && Object.keys(input).length > 0

/** The words that tell most of a call: its command, or its subject. */
const lineOf = (input: unknown): string => {
  if (typeof input !== "object" || input === null) return ""
  const fields = new Map<string, unknown>(Object.entries(input))
  const said = ["command", "cmd", "path", "file_path", "filePath", "pattern", "url", "query"].map((name) =>
    fields.get(name)
  )
  const line = said.find((value) => typeof value === "string")
  return typeof line === "string" ? (line.split("\n")[0] ?? "") : ""
}
