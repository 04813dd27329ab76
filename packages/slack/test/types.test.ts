import { SocketModeClient } from '@slack/socket-mode'
import { WebClient } from '@slack/web-api'
import { expect, test } from 'vitest'
import type { SlackApi, SlackSocket } from '../src/index.ts'

test("Slack's own clients are assignable to our types", () => {
  const api: SlackApi = new WebClient('xoxb-secret')
  const socket: SlackSocket = new SocketModeClient({ appToken: 'xapp-secret' })
  expect([api.apiCall, socket.start]).toEqual([expect.any(Function), expect.any(Function)])
})
