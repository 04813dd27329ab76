import type { Reply } from '@reply/core'
import type { AskRows } from '../asks/asking.ts'
import { line } from '../format/styled-line.ts'
import type { Picture, Size } from '../terminal/surface.ts'
import type { Block } from './blocks.ts'
import { type Above, layout, splitCommittable } from './blocks.ts'
import { footerLines, placeAsk } from './footer.ts'
import { type ReplyView, view } from './view.ts'

export interface ScreenView extends ReplyView {
  readonly size: Size
  /** Whether this is the last picture, in which everything is committed. */
  readonly ended: boolean
  readonly asked: AskRows | undefined
  readonly above: Above
  /** Whether another reply's rows are above. */
  readonly interrupted: boolean
  /** Whether other replies are on the same screen. */
  readonly shared: boolean
  /** The reply's name among others. */
  readonly label: string
  readonly hint: string | undefined
}

export interface Composition {
  readonly picture: Picture
  /** The blocks that `picture.commit` consists of. */
  readonly committed: readonly Block[]
  /** The kind of block above the next rows after this commit. */
  readonly above: Above
  /** The key of the ask that can be read completely once this is painted. */
  readonly offered: string | undefined
}

/**
 * Divides everything that is not shown yet into rows to commit, which are written for good, and rows to repaint. After another
 * reply's rows, the committed ones begin with the label. An ask that is too tall is committed, too. A log has nothing to
 * repaint, and no footer.
 */
export function compose(reply: Reply, options: ScreenView): Composition {
  const { live, size, ended, asked, shown, interrupted, label, now, width, hint } = options
  const { commit, rest } = splitCommittable(view(reply, options), ended)
  // Text before a question comes first, even if the server asks before it has sealed the text.
  const isTextOpen = rest.some(({ kind }) => kind === 'text')
  const isShown = (key: string): boolean => shown.keys.has(key)
  const placement = placeAsk(live ? asked : undefined, { rows: size.rows, shared: options.shared, isTextOpen, isShown })
  const committed = [...commit, ...placement.spill]
  const needsHeading = interrupted && committed.some(({ lines }) => lines.length > 0)
  const finished = layout(committed, needsHeading ? undefined : options.above)
  const rows = needsHeading ? [[], line(`── ${label} ──`, 'dim'), ...finished.rows] : finished.rows
  const { above } = finished
  const { offered } = placement
  if (!live) return { picture: { commit: rows, body: [], footer: [] }, committed, above, offered }
  const unfinished = layout(rest, above).rows
  const body = interrupted && !needsHeading && unfinished[0]?.length ? [[], ...unfinished] : unfinished
  const gap = above !== undefined || body.length > 0
  const named = options.shared ? label : undefined
  const footer = ended
    ? []
    : footerLines(reply, { now, width, rows: size.rows, asked: placement.footer, gap, label: named, hint })
  return { picture: { commit: rows, body, footer }, committed, above, offered }
}
