import { block } from './schema.ts'

/** The text of a content block. Undefined if it is of another type. */
export function textOf(content: { readonly type: string }): string | undefined {
  return content.type === 'text' ? block.text.safeParse(content).data?.text : undefined
}

/** What a content block shows or links to. Undefined for a text, and for what has no place in a reply. */
export function fileOf(content: {
  readonly type: string
}): { readonly mime: string; readonly url: string; readonly filename?: string | undefined } | undefined {
  switch (content.type) {
    case 'image':
    case 'audio': {
      const { data } = block.audio.safeParse(content)
      return data && { mime: data.mimeType, url: `data:${data.mimeType};base64,${data.data}` }
    }
    case 'resource_link': {
      const { data } = block.resource_link.safeParse(content)
      return (
        data && { mime: data.mimeType ?? 'application/octet-stream', url: data.uri, filename: data.name ?? undefined }
      )
    }
    case 'resource': {
      const { data } = block.resource.safeParse(content)
      return data && { mime: data.resource.mimeType ?? 'text/plain', url: data.resource.uri }
    }
    default:
      return undefined
  }
}
