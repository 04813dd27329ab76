import { type Fields, isFields } from '../../fields.ts'

/** Content of a tool call: a text, an image, a link, a file change or a terminal. */
export type ThoughtContent =
  | {
      readonly type: 'content'
      readonly content:
        | { readonly type: 'text'; readonly text: string }
        /** `data` is base64. */
        | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
        | { readonly type: 'resource_link'; readonly uri: string; readonly name?: string | undefined }
    }
  /** `oldText` is absent if the file is new or its old content is unknown. */
  | {
      readonly type: 'diff'
      readonly path: string
      readonly oldText?: string | undefined
      readonly newText: string
    }
  | { readonly type: 'terminal'; readonly terminalId: string }

/**
 * Reads one item of a call's content, as the Agent Client Protocol has it. Undefined for another type and for an
 * invalid item.
 */
export function readContent(item: unknown): ThoughtContent | undefined {
  if (!isFields(item)) return undefined
  switch (item.type) {
    case 'content':
      return readContentBlock(item.content)
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

/** Reads a text, an image or a link. Undefined for another type and for an invalid block. */
function readContentBlock(block: unknown): ThoughtContent | undefined {
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

/** Reads a link. A name that isn't a string is left out. Undefined without a URI. */
function readLink({ uri, name }: Fields): ThoughtContent | undefined {
  if (typeof uri !== 'string') return undefined
  return { type: 'content', content: { type: 'resource_link', uri, ...(typeof name === 'string' && { name }) } }
}

/** A text as the content of a call. */
export function textContent(text: string): ThoughtContent {
  return { type: 'content', content: { type: 'text', text } }
}
