import type { ReplyFile } from '@reply/core'
import { byteSize, fileFacts } from '@reply/core/show'
import { visibleLine } from '../format/sanitize.ts'
import { line, wrap } from '../format/styled-line.ts'
import type { Block } from './blocks.ts'

/** Returns the block of a file: its name, its size and caption if it has them, and its address unless the reply has its content. */
export function fileBlock(file: ReplyFile, width: number): Block {
  const { name, size, link, caption } = fileFacts(file)
  const facts = [
    visibleLine(name),
    ...(size === undefined ? [] : [byteSize(size)]),
    ...(caption ? [visibleLine(caption)] : []),
    ...(link ? [visibleLine(link)] : []),
  ]
  const lines = wrap(line(facts.join(' · '), 'dim'), width, line('+ ', 'dim'), line('  '))
  return { key: `file:${file.id}`, final: true, gap: 'between', kind: 'row', lines }
}
