import type { Render, Rendered } from './port.ts'
import { createTextCache } from './text-cache.ts'

/** UTF-16 units of the sources whose rendering is remembered, per renderer. */
const remembered = 200_000

/** The same renderer, which renders a text that it rendered lately only once. `render` must depend on its text alone. */
export function remembering(render: Render): Render {
  const cache = createTextCache<Rendered>(remembered)
  return (source) => cache.get(source, render)
}

/** A rendering whose `plain` is made when it is asked for: to measure a text needs none. */
export function lazyPlain(
  { text, length }: { readonly text: string; readonly length: number },
  plainOf: () => string,
): Rendered {
  let plain: string | undefined
  return {
    text,
    length,
    get plain() {
      plain ??= plainOf()
      return plain
    },
  }
}
