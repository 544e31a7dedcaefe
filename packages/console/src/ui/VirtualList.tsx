import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useLayoutEffect, useMemo, useRef } from "preact/hooks"

/** A list of any length, of which only what is seen is in the page. */
export interface VirtualListProps<Item> {
  readonly items: ReadonlyArray<Item>
  /** The key of an item, which stays the same when the item changes. */
  readonly keyOf: (item: Item) => string
  /** The height of an item in pixels until it was seen. */
  readonly estimate: (item: Item) => number
  readonly render: (item: Item, index: number) => ComponentChildren
  /** The name of the list for people who do not see it. */
  readonly label: string
  /** True keeps the end in sight while it is in sight. */
  readonly follows?: boolean
  /** Called with the index of the first item that is seen. */
  readonly onTop?: (index: number) => void
  /** Set to a function that brings an item into sight. */
  readonly reveal?: { current: ((index: number) => void) | undefined }
}

const overscan = 400

/** Shows a long list. It scrolls by itself, and takes the height that it is given. */
export const VirtualList = <Item,>(props: VirtualListProps<Item>) => {
  const { estimate, follows = false, items, keyOf, label, onTop, render, reveal } = props
  const box = useRef<HTMLElement>(null)
  const heights = useRef(new Map<string, number>())
  const view = useSignal({ top: 0, height: 800 })
  const measured = useSignal(0)
  const atEnd = useRef(true)
  const seenTop = useRef(0)
  const observer = useRef<ResizeObserver | undefined>(undefined)

  const generation = measured.value
  const offsets = useMemo(() => {
    const made = new Float64Array(items.length + 1)
    let at = 0
    items.forEach((item, index) => {
      at += heights.current.get(keyOf(item)) ?? estimate(item)
      made[index + 1] = at
    })
    return made
  }, [items, generation])
  const total = offsets[items.length] ?? 0

  const { height, top } = view.value
  const first = indexAt(offsets, top - overscan)
  const last = Math.min(items.length, indexAt(offsets, top + height + overscan) + 1)

  const look = () => {
    const element = box.current
    if (element === null) return
    const { clientHeight, scrollHeight, scrollTop } = element
    atEnd.current = scrollHeight - scrollTop - clientHeight < 40
    seenTop.current = scrollTop
    if (view.peek().top !== scrollTop || view.peek().height !== clientHeight)
      view.value = { top: scrollTop, height: clientHeight }
    onTop?.(indexAt(offsets, scrollTop + 1))
  }

  /** Keeps the end in sight, unless a person has left it. The browser tells of their scroll a frame later, and nothing may take it back meanwhile. */
  const stayAtEnd = () => {
    const element = box.current
    if (element === null || !atEnd.current) return
    const { clientHeight, scrollHeight, scrollTop } = element
    atEnd.current = scrollTop >= seenTop.current || scrollHeight - scrollTop - clientHeight < 40
    if (!atEnd.current) return
    element.scrollTop = scrollHeight
    seenTop.current = element.scrollTop
  }

  const looking = useRef(look)
  looking.current = look
  const staying = useRef(stayAtEnd)
  staying.current = stayAtEnd
  const following = useRef(follows)
  following.current = follows

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const watcher = new ResizeObserver((entries) => {
      let moved = 0
      let changed = false
      for (const { target } of entries) {
        if (target === element || !(target instanceof HTMLElement)) continue
        const key = target.dataset["key"] ?? ""
        const now = target.offsetHeight
        const before = heights.current.get(key) ?? Number(target.dataset["estimate"])
        if (now === 0 || now === before) continue
        heights.current.set(key, now)
        changed = true
        // Items above the view must not push it.
        if (Number(target.dataset["top"]) + before <= element.scrollTop) moved += now - before
      }
      if (changed) measured.value++
      if (following.current && atEnd.current) staying.current()
      else if (moved !== 0) element.scrollTop += moved
      const staysAtEnd = atEnd.current
      looking.current()
      atEnd.current = staysAtEnd
    })
    observer.current = watcher
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [])

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    for (const row of element.querySelectorAll("[data-key]")) observer.current?.observe(row)
    if (follows) stayAtEnd()
  })

  if (reveal !== undefined)
    reveal.current = (index) => {
      atEnd.current = false
      box.current?.scrollTo({ top: offsets[index] ?? 0 })
    }

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
    <section class="virtual" ref={box} onScroll={look} aria-label={label} tabIndex={0}>
      <div class="canvas" style={{ height: `${total}px` }}>
        {items.slice(first, last).map((item, at) => {
          const index = first + at
          const key = keyOf(item)
          const offset = offsets[index] ?? 0
          return (
            <div
              key={key}
              class="row"
              data-key={key}
              data-top={offset}
              data-estimate={heights.current.get(key) ?? estimate(item)}
              style={{ transform: `translateY(${offset}px)` }}
            >
              {render(item, index)}
            </div>
          )
        })}
      </div>
    </section>
  )
}

/** The last index whose offset is not behind a position. */
const indexAt = (offsets: Float64Array, position: number): number => {
  let [low, high] = [0, Math.max(0, offsets.length - 2)]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((offsets[middle] ?? 0) <= position) low = middle
    else high = middle - 1
  }
  return low
}
