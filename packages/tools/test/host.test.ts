import { createServer } from 'node:http'
import { connect } from '@reply/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openCodeHost } from '../src/index.ts'

test('a server that answers with a page is not OpenCode', async () => {
  const server = createServer((_, response) => response.end('<!doctype html><title>Home</title>'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const tools = { add: { description: 'Adds.', schema: z.object({}), handler: () => 'ok' } }
  const client = connect({ url: 'http://127.0.0.1:1', onError: () => {} })
  const offer = openCodeHost({ url }).offer(tools, { text: 'Go.' }, client)
  await expect(offer).rejects.toMatchObject({ type: 'not-opencode' })
  await client.close()
  server.close()
})

test('a server that can not reach the tools is told to forget them', async () => {
  const asked: string[] = []
  // As OpenCode 1 answers: https://opencode.ai/docs/server, `POST /mcp` has the state of each server.
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const path = request.url?.replace(/\?.*/, '') ?? ''
      asked.push(`${request.method} ${path}`)
      if (path !== '/mcp') return response.writeHead(path.endsWith('/disconnect') ? 200 : 404).end('true')
      const { name } = JSON.parse(body)
      return response.end(JSON.stringify({ [name]: { status: 'failed', error: 'Connection refused' } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const tools = { add: { description: 'Adds.', schema: z.object({}), handler: () => 'ok' } }
  const opencode = connect({ url: 'http://127.0.0.1:1', onError: () => {} })
  await expect(openCodeHost({ url }).offer(tools, { text: 'Go.' }, opencode)).rejects.toThrow('Connection refused')
  expect(asked.at(-1)).toMatch(/^POST \/mcp\/reply_\w+\/disconnect$/)
  await opencode.close()
  server.close()
})
