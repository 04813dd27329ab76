import type { ComponentChildren } from 'preact'

/** The paths of icons, in a square of 16 by 16. */
const icons = {
  terminal: 'M2.5 3.5h11v9h-11zM5 6.5 7 8 5 9.5M8.5 10h2.5',
  edit: 'm3 13 .6-2.6 7.2-7.2 2 2-7.2 7.2zM9.6 4.4l2 2',
  read: 'M4 2.5h5.5L12 5v8.5H4zM6.2 7.5h3.6M6.2 10h3.6',
  search: 'M7 2.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4zM10.2 10.2 13.5 13.5',
  web: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM2.8 8h10.4M8 2.6c-3.6 3.6-3.6 7.2 0 10.8M8 2.6c3.6 3.6 3.6 7.2 0 10.8',
  list: 'm2.5 4 1 1 1.7-2M2.5 9l1 1 1.7-2M7.5 4.5h6M7.5 9.5h6M7.5 13h6',
  agent: 'M4 6.5h8v6.5H4zM8 6.5V3.8M6.4 9.2v.8M9.6 9.2v.8M8 3.8a.9.9 0 1 0 0-1.8.9.9 0 0 0 0 1.8zM2.5 8.8v2M13.5 8.8v2',
  tool: 'M13 4.6a3.2 3.2 0 0 1-4.2 3.9L5 12.3a1.4 1.4 0 0 1-2-2l3.8-3.8A3.2 3.2 0 0 1 10.7 2.3L9 4l.3 2L11.3 6.3z',
  thought: 'M5 11.5a3 3 0 0 1-.4-6A3.6 3.6 0 0 1 11.4 5a3.2 3.2 0 0 1-.6 6.4zM5.6 13.6h.1M3.6 14.6h.1',
  question: 'M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.6v.1M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2z',
  file: 'M4 2.5h5.5L12 5v8.5H4zM9.2 2.7v2.6H12',
  chevron: 'm6 4 4 4-4 4',
  done: 'm3.5 8.5 3 3 6-7',
  failed: 'm4.5 4.5 7 7m0-7-7 7',
  down: 'M8 3v9.5m0 0L4 8.6m4 3.9 4-3.9',
} as const

export type IconName = keyof typeof icons

/** A picture of the kind of something, beside words that say the same. */
export function Icon({ name }: { readonly name: IconName }): ComponentChildren {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={icons[name]} />
    </svg>
  )
}
