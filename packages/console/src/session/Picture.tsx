import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await } from "../ui/Basics.js"

const endings = /\.(png|jpe?g|gif|webp|svg|avif)$/i

/** The media type of a path that names a picture; undefined for any other. */
export const pictureType = (path: string): string | undefined => {
  const ending = endings.exec(path)?.[1]?.toLowerCase()
  return ending && `image/${ending === "jpg" ? "jpeg" : ending === "svg" ? "svg+xml" : ending}`
}

/** A picture of the session's workspace, as it is there now. */
export const Picture = ({ path, sessionId }: { readonly sessionId: string; readonly path: string }) => {
  const file = useLoaded(path, (signal) => reins.sessions.getFile({ session_id: sessionId, path }, { signal }), [
    sessionId,
    path
  ])
  return <Await of={file}>{({ content }) => <img class="picture" alt={path} src={pictureUrl(path, content)} />}</Await>
}

/** The content of a picture, in base64, as an address. */
export const pictureUrl = (path: string, content: string): string => `data:${pictureType(path)};base64,${content}`
