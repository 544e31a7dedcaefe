import type { AgentMedia } from "@reins/client"

/** The media that an agent shows. */
export const MediaView = ({ media }: { readonly media: AgentMedia }) => {
  const { data, kind, media_type, name, text, truncated, uri } = media
  const source = data !== null && media_type !== null ? `data:${media_type};base64,${data}` : undefined
  if (kind === "image" && source !== undefined && !truncated)
    return <img class="picture" src={source} alt={name ?? "A picture of the agent"} />
  // biome-ignore lint/a11y/useMediaCaption: agents send none
  if (kind === "audio" && source !== undefined && !truncated) return <audio controls src={source} />
  return (
    <p class="card">
      {name ?? uri ?? kind} {truncated && <span class="fine">too large to be kept</span>}
      {text !== null && <code class="block">{text}</code>}
    </p>
  )
}
