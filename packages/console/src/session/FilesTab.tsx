import { useSignal } from "@preact/signals"
import type { FileContent } from "@reins/client"
import { useEffect, useMemo, useRef } from "preact/hooks"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Spans } from "../highlight/Coloured.js"
import { useHighlight } from "../highlight/Highlight.js"
import { languageOfFile } from "../highlight/Languages.js"
import { go, placeOfHash } from "../route/Route.js"
import { Await, Copy, Nothing } from "../ui/Basics.js"
import { VirtualList } from "../ui/VirtualList.js"
import { bytes } from "../words/Words.js"
import { pictureType, pictureUrl } from "./Picture.js"
import type { TabProps } from "./SessionPage.js"

/** The address of a file of a session, and of a line in it. */
export const fileAddress = (sessionId: string, path: string, line?: number): string =>
  `sessions/${sessionId}/files#${path.split("/").map(encodeURIComponent).join("/")}${line === undefined ? "" : `:${line}`}`

/** The files of the working tree of a session. */
export const FilesTab = ({ session }: TabProps) => {
  const session_id = session.id
  // The address names the file, so that a link leads to it.
  const file = placeOfHash()?.path ?? ""
  const folder = useSignal(file.slice(0, Math.max(0, file.lastIndexOf("/"))))
  const list = useLoaded(
    "the files",
    (signal) =>
      reins.sessions.listFiles({ session_id, ...(folder.value !== "" && { path: folder.value }) }, { signal }),
    [session_id, folder.value]
  )
  const steps = folder.value.split("/").filter((step) => step !== "")
  const open = (path: string) => {
    go(`sessions/${session_id}/files`)
    folder.value = path
  }
  const show = (path: string) => go(fileAddress(session_id, path))
  return (
    <div class="files">
      <section class="scroll" aria-label="Folder">
        <p class="crumbs">
          <button type="button" class="link" onClick={() => open("")}>
            Files
          </button>
          {steps.map((step, index) => (
            <span key={step}>
              {" / "}
              <button type="button" class="link" onClick={() => open(steps.slice(0, index + 1).join("/"))}>
                {step}
              </button>
            </span>
          ))}
        </p>
        <Await of={list}>
          {({ items, truncated }) => (
            <>
              {items.length === 0 && <Nothing>The folder is empty.</Nothing>}
              <ul class="rows">
                {items.map(({ name, path, size, type }) => (
                  <li key={path} class="row-line">
                    <button
                      type="button"
                      class="link"
                      disabled={type !== "file" && type !== "directory"}
                      aria-pressed={file === path}
                      onClick={() => (type === "directory" ? open(path) : show(path))}
                    >
                      {type === "directory" ? `${name}/` : name}
                    </button>
                    <span class="fine">{type === "file" ? bytes(size) : type}</span>
                  </li>
                ))}
              </ul>
              {truncated && <p class="fine">The folder holds more than is listed.</p>}
            </>
          )}
        </Await>
      </section>
      {file !== "" && <FileView key={file} sessionId={session_id} path={file} />}
    </div>
  )
}

const FileView = ({ path, sessionId }: { readonly sessionId: string; readonly path: string }) => {
  const file = useLoaded(path, (signal) => reins.sessions.getFile({ session_id: sessionId, path }, { signal }), [
    sessionId,
    path
  ])
  return (
    <section class="file" aria-label={path}>
      <Await of={file}>
        {(value) => (
          <>
            <p class="section-head">
              <code>{path}</code>
              <span>
                <span class="fine">{bytes(value.size)}</span>{" "}
                {value.encoding === "utf-8" && <Copy text={value.content} />}
              </span>
            </p>
            <Content file={value} sessionId={sessionId} />
            {value.truncated && <p class="fine">The file is longer than one read may be.</p>}
          </>
        )}
      </Await>
    </section>
  )
}

const Content = ({
  file: { content, encoding, path },
  sessionId
}: {
  readonly file: FileContent
  readonly sessionId: string
}) => {
  if (encoding === "utf-8" && pictureType(path) === undefined)
    return <Lines text={content} path={path} sessionId={sessionId} />
  if (pictureType(path) === undefined) return <Nothing>The file is not a text.</Nothing>
  return <img class="picture" alt={path} src={pictureUrl(path, encoding === "base64" ? content : btoa(content))} />
}

const Lines = ({
  path,
  sessionId,
  text
}: {
  readonly text: string
  readonly path: string
  readonly sessionId: string
}) => {
  const coloured = useHighlight(languageOfFile(path), text)
  const items = useMemo(
    () => text.split("\n").map((line, index) => ({ text: line, number: index + 1, spans: coloured?.[index] })),
    [text, coloured]
  )
  const wanted = useSignal(placeOfHash()?.line)
  const reveal = useRef<((index: number) => void) | undefined>(undefined)
  useEffect(() => {
    if (wanted.value !== undefined) reveal.current?.(Math.max(0, wanted.value - 5))
  }, [wanted])
  return (
    <VirtualList
      items={items}
      keyOf={({ number }) => `${number}`}
      estimate={() => 19}
      label="The lines of the file"
      reveal={reveal}
      render={({ number, spans, text }) => (
        <div class={number === wanted.value ? "line wanted" : "line"}>
          <a
            class="number"
            href={fileAddress(sessionId, path, number)}
            aria-label={`Line ${number}`}
            onClick={() => (wanted.value = number)}
          >
            {number}
          </a>
          <span class="code">{spans === undefined ? text : <Spans spans={spans} />}</span>
        </div>
      )}
    />
  )
}
