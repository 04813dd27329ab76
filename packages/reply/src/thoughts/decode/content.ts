import { type Fields, isFields } from '../../fields.ts'
import type { ThoughtContent } from '../thought.ts'

/** One item of a call's content, as the Agent Client Protocol has it. Undefined for a type that has no place here. */
export function readContent(item: unknown): ThoughtContent | undefined {
  if (!isFields(item)) return undefined
  switch (item.type) {
    case 'content':
      return readBlock(item.content)
    case 'diff': {
      const { path, oldText, newText } = item
      if (typeof path !== 'string' || typeof newText !== 'string') return undefined
      return { type: 'diff', path, ...(typeof oldText === 'string' && { oldText }), newText }
    }
    case 'terminal':
      return typeof item.terminalId === 'string' ? { type: 'terminal', terminalId: item.terminalId } : undefined
    default:
      return undefined
  }
}

function readBlock(block: unknown): ThoughtContent | undefined {
  if (!isFields(block)) return undefined
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? textContent(block.text) : undefined
    case 'image': {
      const { data, mimeType } = block
      if (typeof data !== 'string' || typeof mimeType !== 'string') return undefined
      return { type: 'content', content: { type: 'image', data, mimeType } }
    }
    case 'resource_link':
      return readLink(block)
    default:
      return undefined
  }
}

function readLink({ uri, name }: Fields): ThoughtContent | undefined {
  if (typeof uri !== 'string') return undefined
  return { type: 'content', content: { type: 'resource_link', uri, ...(typeof name === 'string' && { name }) } }
}

export function textContent(text: string): ThoughtContent {
  return { type: 'content', content: { type: 'text', text } }
}
