import type { Render, Rendered } from './port.ts'
import { createTextCache } from './text-cache.ts'

/** UTF-16 units of the sources whose rendering is cached, per renderer. */
const mostCachedUnits = 200_000

/** Returns a renderer that caches its recent results. `render` must depend on its text alone. */
export function cachedRender(render: Render): Render {
  const cache = createTextCache<Rendered>(mostCachedUnits)
  return (source) => cache.get(source, render)
}

/** Returns a rendering that computes `plain` on first use, because measuring a text does not need it. */
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
