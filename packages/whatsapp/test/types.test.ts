import type { WASocket } from 'baileys'
import { expect, test } from 'vitest'
import { baileysChannel, baileysSink } from '../src/index.ts'

/** Compiles because what `makeWASocket()` gives fits. It would connect, so nothing is made here. */
export function withReal(socket: WASocket): void {
  baileysChannel({ onInbound: () => {} }).setSocket(socket)
  baileysSink({ socket, jid: '1@s.whatsapp.net' })
  baileysSink({ socket: () => socket, jid: '1@s.whatsapp.net' })
}

test("Baileys' own socket fits where one is taken", () => {
  expect(withReal).toHaveLength(1)
})
