import { effect, signal } from "@preact/signals"
import { keep, readKept } from "../ui/Kept.js"

/** The looks that a person may choose; `system` follows the device. */
export const themes = ["system", "light", "dark"] as const
type Theme = (typeof themes)[number]

const name = "reins.theme"

const stored = (): Theme => themes.find((each) => each === readKept(name)) ?? "system"

/** The chosen look, which this browser keeps. */
export const theme = signal<Theme>(stored())

/** Applies the look now and whenever it changes. */
export const startTheme = (): void => {
  effect(() => {
    keep(name, theme.value)
    document.documentElement.dataset["theme"] = theme.value
  })
}
