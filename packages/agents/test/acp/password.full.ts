import { toolsOf } from '@reply/core'
import { callTool, promptFor, sayText, startModel } from '@reply/testing'
import { prepareOpencode } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { opencodeAcp } from '../../src/acp.ts'

/** Looks for the password as a command would that wants to answer asks, and tries the server without it. */
const command = `env | grep -E '^OPENCODE_(SERVER|TEST)' | grep -v '=$'
port=$(tr '\\0' ' ' < /proc/$PPID/cmdline | sed 's/.*--port \\([0-9]*\\).*/\\1/')
exec 3<>/dev/tcp/127.0.0.1/$port
printf 'GET /permission HTTP/1.0\\r\\n\\r\\n' >&3
head -n 1 <&3`

test("a command that a live OpenCode runs does not get its server's password, and the server refuses requests without it", async () => {
  const steps = [[callTool('bash', { command, description: 'Looks for the password' })], [sayText('Done.')]]
  const model = await startModel({ scripts: { look: { steps } } })
  const opencode = await prepareOpencode({ model, config: { permission: { bash: 'ask' } } })
  const content = JSON.stringify({ username: 'anna' })
  const client = opencodeAcp({
    command: opencode.command,
    cwd: opencode.directory,
    env: { ...opencode.env, SHELL: '/bin/bash', OPENCODE_TEST: 'kept', OPENCODE_CONFIG_CONTENT: content },
  })
  try {
    const reply = await client.prompt(
      { text: promptFor('look') },
      { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
    ).result
    const output = toolsOf(reply)[0]?.state.output?.trim().split(/\r?\n/)
    expect(output).toEqual(['OPENCODE_TEST=kept', expect.stringMatching(/^HTTP\/1\.1 401 /)])
    expect(reply.outcome).toBe('completed')
  } finally {
    await client.close()
    await model.close()
    await opencode.remove()
  }
})
