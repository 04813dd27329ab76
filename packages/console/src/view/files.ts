import type { ReplyFile } from '@reply/core'
import { byteSize, fileFacts } from '@reply/core/show'
import { visibleLine } from '../format/sanitize.ts'
import { line, wrap } from '../format/styled-line.ts'
import type { Block } from './blocks.ts'

/** Returns the block of a file: its name, its size if that is known, and its address unless the reply has its content. */
export function fileBlock(file: ReplyFile, width: number): Block {
  const { name, size, link } = fileFacts(file)
  const facts = [
    visibleLine(name),
    ...(size === undefined ? [] : [byteSize(size)]),
    ...(link ? [visibleLine(link)] : []),
  ]
  const lines = wrap(line(facts.join(' · '), 'dim'), width, line('+ ', 'dim'), line('  '))
  return { key: `file:${file.id}`, final: true, gap: 'between', kind: 'row', lines }
}
