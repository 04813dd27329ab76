import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Reply, toolsOf } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { callTool, type ScriptedModel, type Scripts, sayText, startModel } from '@reply/testing'
import { agentBinary, prepareOpencode } from '@reply/testing/internal'
import { expect, test } from 'vitest'
import { readmeLine, withProgram } from '../../tools/test/readme-lines.ts'
import { acpSource } from '../src/acp.ts'
import { claude } from '../src/claude.ts'
import { codex } from '../src/codex.ts'
import { codexVersions } from './codex/codex-stage.ts'
import { claudeEnv, codexEnv, codexFiles, type ScriptedStage, startScripted } from './scripted-stage.ts'

/** Real agents with the tool of `reply-tools`, which its README's line of settings gives them. */

const scriptsFor = (tool: string): Scripts => ({
  send: {
    steps: [
      [callTool(tool, { path: 'sales 2026.png', caption: 'Sales' })],
      [callTool(tool, { path: '../secret' })],
      [sayText('It is sent.')],
    ],
  },
})

/** Prompts the agent and allows its calls. Resolves with the reply, the address of the file, and all that its model got. */
async function prompted(source: Source, directory: string, model: ScriptedModel) {
  writeFileSync(join(directory, 'sales 2026.png'), 'PICTURE')
  const client = connectSource(source)
  const reply = await client.prompt(
    { text: 'Send it. [scenario:send]' },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
  ).result
  await client.close()
  return { reply, url: pathToFileURL(join(directory, 'sales 2026.png')).href, sent: JSON.stringify(model.requests) }
}

/** Plays it with an agent on a stage. Its environment has the program. */
async function play(
  tool: string,
  open: (stage: ScriptedStage, path: { readonly PATH: string }) => Source,
  files?: (model: ScriptedModel) => Readonly<Record<string, string>>,
) {
  const stage = await startScripted(scriptsFor(tool), files)
  try {
    return await prompted(open(stage, withProgram(stage.home)), stage.directory, stage.model)
  } finally {
    await stage.close()
  }
}

const outputs = (reply: Reply) => toolsOf(reply).map(({ state }) => state.output ?? state.error)
const attached = 'Attached for the people in the chat: sales 2026.png (image/png, 7 B).'
const refused = 'The path "../secret" has "..". Give a path inside of the project.'
/** What no model may get: the content of the file. */
const content = new RegExp(`PICTURE|${Buffer.from('PICTURE').toString('base64')}`)

test.each([
  ['in the project', '.mcp.json', []],
  ['in a file of its own', 'own.json', ['--mcp-config', 'own.json']],
])('Claude Code with the line %s has a text with the address of the file', async (_, file, args) => {
  const command = await agentBinary('claude')
  const { reply, url, sent } = await play('mcp__reply__send_file', (stage, path) => {
    writeFileSync(join(stage.directory, file), `{ ${readmeLine('Claude Code')} }`)
    return claude({ command, args, cwd: stage.directory, env: { ...claudeEnv(stage), ...path } })
  })
  expect(outputs(reply)).toEqual([`${attached}\n[Resource link: sales 2026.png] ${url} (Sales)`, refused])
  expect(sent).not.toMatch(content)
})

test.each(codexVersions)('Codex %s has a link to the file', async (version) => {
  const command = await agentBinary('codex', version)
  const { reply, url, sent } = await play(
    'mcp__reply.send_file',
    (stage, path) => codex({ command, cwd: stage.directory, env: { ...codexEnv(stage), ...path } }),
    (model) =>
      Object.fromEntries(
        Object.entries(codexFiles(model)).map(([name, own]) => [name, `${readmeLine('Codex')}\n${own}`]),
      ),
  )
  expect(outputs(reply)).toEqual([`${attached}\n[${url}]`, refused])
  const link = { type: 'resource_link', uri: url, name: 'sales 2026.png', mimeType: 'image/png', size: 7 }
  expect(toolsOf(reply)[0]?.raw).toMatchObject({ params: { item: { result: { content: [{}, link] } } } })
  expect(sent).not.toMatch(content)
})

test("OpenCode over ACP has the file in its own result's metadata", async () => {
  const model = await startModel({ scripts: scriptsFor('reply_send_file') })
  const opencode = await prepareOpencode({ model })
  const root = mkdtempSync(join(tmpdir(), 'reply-tools-'))
  const { command, directory } = opencode
  const env = { ...opencode.env, ...withProgram(root) }
  try {
    const options = { command, args: ['acp'], cwd: directory, env, ...JSON.parse(`{ ${readmeLine('ACP')} }`) }
    const { reply, url, sent } = await prompted(acpSource(options), directory, model)
    expect(outputs(reply)).toEqual([attached, refused])
    const attachment = { type: 'file', mime: 'image/png', url, filename: 'sales 2026.png', size: 7, caption: 'Sales' }
    expect(toolsOf(reply)[0]?.raw).toMatchObject({ rawOutput: { metadata: { attachments: [attachment] } } })
    expect(sent).not.toMatch(content)
  } finally {
    await model.close()
    await opencode.remove()
    rmSync(root, { recursive: true })
  }
})
