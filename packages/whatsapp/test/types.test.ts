import type { WASocket } from 'baileys'
import { expectTypeOf, test } from 'vitest'
import type { BaileysSocket, BaileysSource } from '../src/index.ts'

// What does not fit does not compile.
test("Baileys' own socket fits where one is taken, and so does what gives one", () => {
  expectTypeOf<WASocket>().toExtend<BaileysSocket>()
  expectTypeOf<() => WASocket>().toExtend<BaileysSource>()
  expectTypeOf<() => WASocket | undefined>().toExtend<BaileysSource>()
})
