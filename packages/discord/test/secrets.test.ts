import { createHash, createPublicKey, verify } from 'node:crypto'
import { REST } from '@discordjs/rest'
import { expect, test } from 'vitest'
import { discordChannel, discordRestOptions } from '../src/index.ts'

const rest = new REST(discordRestOptions).setToken('a-token')
const onInbound = (): void => {}
const zeros = '00'.repeat(32)

test.each(['', ' ', '\u200b', 'abc-not-a-key', 'g'.repeat(64), `${'a'.repeat(64)}\n`, zeros, `${'00'.repeat(31)}80`])(
  'the public key %j is refused however events come',
  (publicKey) => {
    for (const updates of ['http', 'own'] as const) {
      const make = () => discordChannel({ rest, updates, publicKey, onInbound })
      expect(make).toThrow(
        expect.objectContaining({ type: 'invalid', message: expect.stringMatching(/publicKey of 64 hexadecimal/) }),
      )
      expect(make).not.toThrow(/not-a-key|ggg/)
    }
  },
)

test('anyone could sign for an all-zero placeholder key', () => {
  const head = Buffer.from('302a300506032b6570032100', 'hex')
  const key = createPublicKey({ key: Buffer.concat([head, Buffer.from(zeros, 'hex')]), format: 'der', type: 'spki' })
  // R is the neutral point and S is 0: it verifies if the hash is a multiple of the key's order, which is 4.
  const signature = Buffer.concat([Buffer.from([1]), Buffer.alloc(63)])
  const forged = Array.from({ length: 64 }, (_, n) => Buffer.from(`{"type":3,"n":${n}}`)).filter((body) =>
    verify(null, body, key, signature),
  )
  expect(forged.length).toBeGreaterThan(0)
  const hash = createHash('sha512').update(signature.subarray(0, 32)).update(Buffer.from(zeros, 'hex'))
  expect((hash.update(forged[0] ?? '').digest()[0] ?? 1) % 4).toBe(0)
})
