import { useSignal } from "@preact/signals"
import type { FileContent } from "@reins/client"
import { useMemo } from "preact/hooks"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Copy, Nothing } from "../ui/Basics.js"
import { VirtualList } from "../ui/VirtualList.js"
import { bytes } from "../words/Words.js"
import { pictureType, pictureUrl } from "./Picture.js"
import type { TabProps } from "./SessionPage.js"

/** The files of the session's workspace. */
export const FilesTab = ({ session }: TabProps) => {
  const folder = useSignal("")
  const file = useSignal<string | undefined>(undefined)
  const session_id = session.id
  const list = useLoaded(
    "the files",
    (signal) =>
      reins.sessions.listFiles({ session_id, ...(folder.value !== "" && { path: folder.value }) }, { signal }),
    [session_id, folder.value]
  )
  const steps = folder.value.split("/").filter((step) => step !== "")
  const open = (path: string) => {
    file.value = undefined
    folder.value = path
  }
  const show = (path: string) => {
    file.value = path
  }
  return (
    <div class="files">
      <section class="scroll" aria-label="Folder">
        <p class="crumbs">
          <button type="button" class="link" onClick={() => open("")}>
            workspace
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
                      aria-pressed={file.value === path}
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
      {file.value !== undefined && <FileView key={file.value} sessionId={session_id} path={file.value} />}
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
            <Content file={value} />
            {value.truncated && <p class="fine">The file is longer than one read may be.</p>}
          </>
        )}
      </Await>
    </section>
  )
}

const Content = ({ file: { content, encoding, path } }: { readonly file: FileContent }) => {
  if (encoding === "utf-8" && pictureType(path) === undefined) return <Lines text={content} />
  if (pictureType(path) === undefined) return <Nothing>The file is not a text.</Nothing>
  return <img class="picture" alt={path} src={pictureUrl(path, encoding === "base64" ? content : btoa(content))} />
}

const Lines = ({ text }: { readonly text: string }) => (
  <VirtualList
    items={useMemo(() => text.split("\n").map((line, index) => ({ text: line, number: index + 1 })), [text])}
    keyOf={({ number }) => `${number}`}
    estimate={() => 19}
    label="The lines of the file"
    render={({ number, text }) => (
      <div class="line">
        <span class="number">{number}</span>
        <span class="code">{text}</span>
      </div>
    )}
  />
)
