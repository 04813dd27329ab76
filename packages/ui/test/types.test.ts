import type { UIMessageChunk } from 'ai'
import { expectTypeOf, test } from 'vitest'
import type { UIChunk } from '../src/index.ts'

test('a chunk is one of the AI SDK 6', () => {
  expectTypeOf<UIChunk>().toExtend<UIMessageChunk>()
})
