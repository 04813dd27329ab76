// Type-checked by a test: every chunk is one of the AI SDK 7.
import type { UIChunk, UIChunk7 } from '@reply/ui'
import type { UIMessageChunk } from 'ai'

export const fits = (chunk: UIChunk | UIChunk7): UIMessageChunk => chunk
