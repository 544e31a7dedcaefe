import type { Artifact } from "@reins/client"
import { serviceUrl } from "../api/Server.js"
import { bytes } from "../words/Words.js"

/** A file that the agent has published, with the way to keep it. A picture is shown. */
export const ArtifactCard = ({ artifact, isDeleted }: { readonly artifact: Artifact; readonly isDeleted: boolean }) => {
  const { id, media_type, path, size, title } = artifact
  const content = `${serviceUrl}/api/artifacts/${id}/content`
  return (
    <section class="card" aria-label={`File: ${title}`}>
      {!isDeleted && media_type.startsWith("image/") && <img class="picture" alt={title} src={content} />}
      <p>
        {title} <span class="fine">{bytes(size)}</span>{" "}
        {isDeleted ? (
          <span class="fine">deleted</span>
        ) : (
          <a class="button small" href={content} download={path.split("/").at(-1)}>
            Download
          </a>
        )}
      </p>
    </section>
  )
}
