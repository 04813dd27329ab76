import type { ReasoningPart, TextPart } from '@reply/core'
import { endOfBlock } from '../format/block-end.ts'
import { closeTable } from '../format/close-table.ts'
import { blocksOf, markdown } from '../format/markdown.ts'
import { clean } from '../format/sanitize.ts'
import { type Line, line, span, wrap } from '../format/styled-line.ts'
import type { Block, Committed } from './committed.ts'

interface Options {
  readonly shown: Committed
  readonly width: number
  /** Rendered rows for a terminal; otherwise the Markdown source. */
  readonly live: boolean
}

/**
 * The part of this text that is not on the screen yet, cut at its Markdown blocks. All but the last block of an open
 * text are final.
 *
 * If the text no longer begins with what was shown, a note says so and the whole text follows.
 */
export function textBlocks(part: TextPart | ReasoningPart, options: Options): readonly Block[] {
  const { shown } = options
  const before = shown.texts.get(part.id) ?? ''
  if (part.status === 'abandoned') return before === '' ? [] : [takenBack(part.id, 'abandoned')]
  if (part.text.startsWith(before)) return sliceBlocks(part, before, options)
  // While the text has a hole, its final version may still restore what was shown.
  if (part.status === 'open') return []
  return [takenBack(part.id, 'changed'), ...sliceBlocks(part, '', options)]
}

const WHY = {
  abandoned: 'the model was interrupted and started over: ignore its unfinished text above',
  changed: 'the text above has changed: the new version follows',
  removed: 'the text above was removed from the session',
} as const

/** A note that invalidates the text shown before. */
export function takenBack(partID: string, why: keyof typeof WHY): Block {
  return {
    key: `${partID}:${why}`,
    final: true,
    gap: 'always',
    kind: 'note',
    lines: [line(`↺ ${WHY[why]}`, 'yellow')],
    slice: { partID, start: 0, source: '' },
  }
}

function sliceBlocks(part: TextPart | ReasoningPart, before: string, options: Options): readonly Block[] {
  const blocks: Block[] = []
  let start = before.length
  const growing = part.status === 'open'
  const pieces = blocksOf(part.text.slice(start))
  for (const [index, source] of pieces.entries()) {
    const last = index === pieces.length - 1
    const blank = start === 0 || /\n[ \t]*\r?\n\s*$/.test(part.text.slice(Math.max(0, start - 200), start))
    blocks.push({
      key: `${part.id}@${start}`,
      final: part.status === 'sealed' || (!last && part.hole === undefined),
      gap: blank ? 'always' : 'never',
      kind: 'text',
      lines: rowsOf(
        part.type,
        growing && last && options.live ? closeTable(endOfBlock(source, options.width)) : source,
        options,
      ),
      slice: { partID: part.id, start, source },
    })
    start += source.length
  }
  return blocks.filter(({ lines, final }) => lines.length > 0 || final)
}

function rowsOf(type: 'text' | 'reasoning', source: string, { live, width }: Options): readonly Line[] {
  if (type === 'reasoning') return wrap(line(source.trim(), 'dim', 'italic'), width, [span('│ ', 'dim')])
  if (live) return markdown(source, width)
  return trimBlank(clean(source))
    .split('\n')
    .map((row) => line(row))
}

/** Removes blank rows around the text, but keeps its indentation. */
function trimBlank(text: string): string {
  return text.replace(/^(?:[ \t]*\n)+/, '').trimEnd()
}
