import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { bridgeChannel } from '../src/bridge.ts'
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

test('a redirect is not followed: another host gets neither the token nor a message', async () => {
  const heard: string[] = []
  const other = await listening((request, response) => {
    heard.push(`${request.method} ${request.headers.authorization}`)
    response.end('{}')
  })
  const first = await listening((request, response) => {
    request.resume()
    response.writeHead(307, { location: other.url }).end()
  })
  const redirected = createCloudClient({ token: 'EAAfake', phoneNumberId: '1', apiUrl: first.url })
  const { signal } = new AbortController()
  await expect(redirected.messages({ text: { body: 'Hello' } }, signal)).rejects.toThrow('HTTP 307')
  await expect(
    redirected.media({ name: 'a', mediaType: 'text/plain', bytes: Buffer.from('a') }, signal),
  ).rejects.toThrow('HTTP 307')
  const secret = (): string => 'EAAfake-token'
  const any = { env: 'ANY' }
  const config = { type: 'whatsapp', api: 'cloud', phoneNumberId: '1', apiUrl: first.url, token: any } as const
  const check = bridgeChannel.check({ ...config, appSecret: any, verifyToken: any }, { secret })
  await expect(check).rejects.toThrow('HTTP 307')
  expect(heard).toEqual([])
  await Promise.all([first.close(), other.close()])
})

async function listening(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = server.address()
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return { url: `http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}`, close }
}
