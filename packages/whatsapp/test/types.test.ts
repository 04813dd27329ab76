import type { WASocket } from 'baileys'
import { expectTypeOf, test } from 'vitest'
import type { BaileysSource } from '../src/baileys/api.ts'
import type { BaileysSocket } from '../src/index.ts'

// A type mismatch fails the compilation.
test("Baileys' own socket, and a function that returns one, are assignable to our types", () => {
  expectTypeOf<WASocket>().toExtend<BaileysSocket>()
  expectTypeOf<() => WASocket>().toExtend<BaileysSource>()
  expectTypeOf<() => WASocket | undefined>().toExtend<BaileysSource>()
})
