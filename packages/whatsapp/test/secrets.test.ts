import { expect, test } from 'vitest'
import { createCloudClient, whatsappChannel } from '../src/index.ts'

const onInbound = (): void => {}
const client = createCloudClient({ token: 'EAAfake', phoneNumberId: '1' })
const secrets = { appSecret: 'a-fake-app-secret', verifyToken: 'a-verify-token' }

test.each(['appSecret', 'verifyToken'])('a blank or short %s is refused, and the error does not contain it', (name) => {
  for (const secret of ['', ' '.repeat(32), '\u200b'.repeat(32), 'sh-rt', 'a-secret-of-length\n']) {
    const make = () => whatsappChannel({ client, onInbound, ...secrets, [name]: secret })
    expect(make).toThrow(expect.objectContaining({ type: 'invalid', message: expect.stringMatching(`needs ${name}`) }))
    expect(make).not.toThrow(/sh-rt|a-secret/)
  }
})

test.each(['', ' ', '\u200b', 'EAAfake\n', 'EAA fake', 'EAA\u0000fake'])(
  'the token %j is refused before a call could repeat it in an error',
  (token) => {
    const make = () => createCloudClient({ token, phoneNumberId: '1' })
    expect(make).toThrow(expect.objectContaining({ type: 'invalid', message: expect.stringMatching(/token/) }))
    expect(make).not.toThrow(/EAA/)
  },
)
