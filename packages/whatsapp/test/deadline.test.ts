import { describe } from 'vitest'
import { testDeadline } from '../../sink/test/deadline.ts'
import { type BaileysSocket, baileysSink, type CloudClient, whatsappSink } from '../src/index.ts'

const listeners = { on: () => {}, off: () => {} }

describe('the Cloud API', () => {
  testDeadline({ phoneNumberId: '1' } as CloudClient, (client, options) =>
    whatsappSink({ client, to: '4917000000002', ...options }),
  )
})

describe('Baileys', () => {
  testDeadline({ ev: listeners, ws: listeners } as unknown as BaileysSocket, (socket, options) =>
    baileysSink({ socket, jid: '4917000000002@s.whatsapp.net', ...options }),
  )
})
