import { type ReactNode, useEffect, useRef } from 'react'

/** How near the end counts as the end, in CSS pixels. */
const nearPx = 40

/**
 * Shows the messages. Who has scrolled to the end stays there while more comes, and who reads further up is left alone. A screen
 * reader reads a message when it is whole.
 */
export function StickyLog({ isBusy, children }: { readonly isBusy: boolean; readonly children: ReactNode }): ReactNode {
  const log = useRef<HTMLElement>(null)
  const inside = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const [outer, inner] = [log.current, inside.current]
    if (!outer || !inner) return
    let isAtEnd = true
    const toEnd = (): void => {
      if (isAtEnd) outer.scrollTop = outer.scrollHeight
    }
    let before = 0
    const look = (): void => {
      const { scrollHeight, scrollTop, clientHeight } = outer
      // More may have come since the scroll that this event is about, so only a way up is a person's.
      if (scrollHeight - scrollTop - clientHeight < nearPx) isAtEnd = true
      else if (scrollTop < before) isAtEnd = false
      before = scrollTop
    }
    const sizes = new ResizeObserver(toEnd)
    sizes.observe(outer)
    sizes.observe(inner)
    outer.addEventListener('scroll', look, { passive: true })
    return () => {
      sizes.disconnect()
      outer.removeEventListener('scroll', look)
    }
  }, [])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it.
    <main ref={log} className="log" role="log" aria-label="Chat" aria-live="polite" aria-busy={isBusy} tabIndex={0}>
      <div ref={inside}>{children}</div>
    </main>
  )
}
