import { type Signal, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { reins } from "../api/Server.js"
import { choose, standings, workspace, workspaces } from "../inbox/Workspace.js"
import { theme, themes } from "../look/Theme.js"
import { go } from "../route/Route.js"
import { Dialog } from "../ui/Dialog.js"
import { plain } from "../words/Words.js"
import { keyList, opened } from "./Keys.js"
import { searchSessions } from "./SessionSearch.js"

interface Entry {
  readonly key: string
  readonly name: string
  readonly kind: string
  /** Words around what was found. */
  readonly snippet?: string | undefined
  readonly run: () => void
}

/** The pages that the palette leads to. */
export interface PageOfMenu {
  readonly to: string
  readonly name: string
}

const most = 12

/** The entries that hold all words of a search, those that begin with it first. */
export const found = <A extends { readonly name: string }>(
  entries: ReadonlyArray<A>,
  search: string
): ReadonlyArray<A> => {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const holds = entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
  const begins = ({ name }: A) => Number(!name.toLowerCase().startsWith(words[0] ?? ""))
  return holds.sort((one, other) => begins(one) - begins(other))
}

const entriesOf = (pages: ReadonlyArray<PageOfMenu>): ReadonlyArray<Entry> => [
  ...pages.map(({ name, to }) => ({ key: `page.${to}`, name, kind: "Page", run: () => go(to) })),
  ...(standings.value ?? []).map(({ item: { session_id, state, title } }) => ({
    key: session_id,
    name: title ?? session_id,
    kind: plain(state),
    run: () => go(`sessions/${session_id}`)
  })),
  ...themes.map((each) => ({
    key: `theme.${each}`,
    name: `Theme: ${each}`,
    kind: "Theme",
    run: () => {
      theme.value = each
    }
  })),
  ...(workspaces.value.length > 1
    ? workspaces.value.map(({ id, name }) => ({
        key: `workspace.${id}`,
        name: `Workspace: ${name}`,
        kind: "Workspace",
        run: () => choose(id)
      }))
    : [])
]

/** The field has the keys of the list below it. */
const combobox = { type: "text", role: "combobox", list: undefined, "aria-expanded": true } as const

/** The sessions that the server finds by their titles and messages, a moment after the last letter. */
const useFound = (search: string): Signal<ReadonlyArray<Entry>> => {
  const entries = useSignal<ReadonlyArray<Entry>>([])
  const workspaceId = workspace.value?.id
  useEffect(() => {
    entries.value = []
    if (workspaceId === undefined || search.trim().length < 2) return
    const given = new AbortController()
    const timer = setTimeout(async () => {
      try {
        await searchSessions(reins, { workspaceId, search, signal: given.signal }, ({ session, snippet, turnId }) => {
          if (given.signal.aborted) return
          const entry: Entry = {
            key: session.id,
            name: session.title ?? session.id,
            kind: snippet === undefined ? plain(session.activity) : "Message",
            snippet,
            run: () => go(`sessions/${session.id}${turnId === undefined ? "" : `#${turnId}`}`)
          }
          entries.value = [...entries.value.filter(({ key }) => key !== entry.key), entry]
        })
      } catch {
        // Names of pages and known sessions are found without the server.
      }
    }, 150)
    return () => {
      clearTimeout(timer)
      given.abort()
    }
  }, [search, workspaceId, entries])
  return entries
}

/** The entries with each session once; one with a snippet says more. */
const merged = (own: ReadonlyArray<Entry>, others: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const known = new Set(own.map(({ key }) => key))
  return [...own, ...others.filter(({ key }) => !known.has(key))]
}

/** Searches pages and sessions by their names, and messages by their words. */
export const Palette = ({ pages }: { readonly pages: ReadonlyArray<PageOfMenu> }) => {
  const search = useSignal("")
  const at = useSignal(0)
  const byServer = useFound(search.value)
  const list = merged(found(entriesOf(pages), search.value).slice(0, most), byServer.value)
  const close = () => (opened.value = undefined)
  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return
    close()
    entry.run()
  }
  return (
    <Dialog title="Search" close={close}>
      <input
        {...combobox}
        aria-label="Search pages, sessions and messages"
        aria-controls="palette-list"
        aria-activedescendant={list[at.value] === undefined ? undefined : `palette-${at.value}`}
        autofocus
        autocomplete="off"
        value={search.value}
        onInput={({ currentTarget }) => {
          search.value = currentTarget.value
          at.value = 0
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") at.value = Math.min(list.length - 1, at.value + 1)
          else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1)
          else if (event.key === "Enter") run(list[at.value])
          else return
          event.preventDefault()
        }}
      />
      <div id="palette-list" class="palette" role="listbox" aria-label="Found">
        {list.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={entry.key}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at.value}
            onClick={() => run(entry)}
          >
            <span>
              {entry.name}
              {entry.snippet !== undefined && <span class="snippet">{entry.snippet}</span>}
            </span>{" "}
            <span class="fine">{entry.kind}</span>
          </div>
        ))}
      </div>
      {list.length === 0 && <p class="fine">Nothing has these words.</p>}
    </Dialog>
  )
}

/** The keys of the page. */
export const KeyHelp = () => (
  <Dialog title="Keys" close={() => (opened.value = undefined)}>
    <dl class="facts-list">
      {keyList.map(([key, does]) => (
        <>
          <dt key={`${key}.key`}>
            <kbd>{key}</kbd>
          </dt>
          <dd key={key}>{does}</dd>
        </>
      ))}
    </dl>
  </Dialog>
)
