import { useSignal } from "@preact/signals"
import { choose, standings, workspaces } from "../inbox/Workspace.js"
import { theme, themes } from "../look/Theme.js"
import { go } from "../route/Route.js"
import { Dialog } from "../ui/Dialog.js"
import { plain } from "../words/Words.js"
import { keyList, opened } from "./Keys.js"

interface Entry {
  readonly key: string
  readonly name: string
  readonly kind: string
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
  ...(standings.value ?? []).map(({ session }) => ({
    key: session.id,
    name: session.title ?? session.id,
    kind: plain(session.activity),
    run: () => go(`sessions/${session.id}`)
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

/** Searches pages and sessions by their names. */
export const Palette = ({ pages }: { readonly pages: ReadonlyArray<PageOfMenu> }) => {
  const search = useSignal("")
  const at = useSignal(0)
  const list = found(entriesOf(pages), search.value).slice(0, most)
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
        aria-label="Search pages and sessions"
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
            <span>{entry.name}</span> <span class="fine">{entry.kind}</span>
          </div>
        ))}
      </div>
      {list.length === 0 && <p class="fine">Nothing has this name.</p>}
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
