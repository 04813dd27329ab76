import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Reply } from '@reply/core'
import { connectSource, type Source } from '@reply/core/source'
import { callTool, type Scripts, sayText, startModel } from '@reply/testing'
import { type AgentName, agentBinary, prepareOpencode, redact } from '@reply/testing/internal'
import { readmeLine, withProgram } from '../../../tools/test/readme-lines.ts'
import { type AcpOptions, acpSource } from '../../src/acp.ts'
import { claude } from '../../src/claude.ts'
import { codex } from '../../src/codex.ts'
import { codexVersions } from '../codex/codex-stage.ts'
import { kiloEnv, kiloFiles, kimiEnv, kimiFiles, qwenEnv } from '../newest/acp-agents.ts'
import { recorderOf } from '../recorder.ts'
import { claudeEnv, codexEnv, codexFiles, type ScriptedStage, startScripted } from '../scripted-stage.ts'

/** A real agent with the tool of `reply-tools`, which the README's line of settings gives it. */
export interface SendingAgent {
  /** The folder below `recordings`. */
  readonly recording: string
  /** Version 2 of ACP. */
  readonly protocol?: AcpOptions['protocol']
  /** Gemini CLI sends no arguments of its calls, which have the caption. Default: false. */
  readonly hidesCaption?: boolean
  /** The mode that asks before it acts. Default: the agent's own. */
  readonly mode?: string | undefined
  /** Default: lets it send a picture with a caption, a table without one, and a file that is refused. */
  play(prompt?: PromptAgent): Promise<Played>
}

/** Prompts an agent in this folder and mode. Resolves with its last reply, and closes its source. */
export type PromptAgent = (source: Source, directory: string, mode: string | undefined) => Promise<Reply>

export interface Played {
  readonly reply: Reply
  /** The addresses of the two files. */
  readonly urls: readonly string[]
  /** All that the model got, as JSON. */
  readonly sent: string
  /** The lines of both sides, without what differs from machine to machine. */
  readonly lines: readonly string[]
}

/** The content of a file, which no model may get. */
export const content = 'PICTURE'

const names = ['sales 2026.png', 'rows.csv']

/** How long `reply-tools` takes to start, as on a busy computer: longer than the second that Codex waits for a server that isn't required. */
const slowStartSeconds = 2

const scriptsFor = (tool: string): Scripts => ({
  send: {
    steps: [
      [callTool(tool, { path: names[0], caption: 'Sales' })],
      [callTool(tool, { path: names[1] })],
      [callTool(tool, { path: '../secret' })],
      [sayText('It is sent.')],
    ],
  },
  look: { steps: [[sayText('I see it.')]] },
})

/** Prompts the agent, and allows its calls. */
const letSend: PromptAgent = async (source, directory, mode) => {
  for (const name of names) writeFileSync(join(directory, name), content)
  const client = connectSource(source)
  const reply = await client.prompt(
    { text: 'Send it. [scenario:send]', agent: mode },
    { observe: () => [{ permissionAsked: ({ ask }) => void client.answer(ask, 'once') }] },
  ).result
  await client.close()
  return reply
}

const urlsIn = (directory: string) => names.map((name) => pathToFileURL(join(directory, name)).href)

interface ProgramOptions {
  readonly program: AgentName
  readonly version?: string
  readonly needsNode?: boolean
  readonly tool: string
  readonly mode?: string
  readonly files?: Parameters<typeof startScripted>[1]
  readonly open: (started: Started, stage: ScriptedStage) => Source
}

/** The program to start, with the arguments that come first, and a path that has `reply-tools`. */
interface Started {
  readonly command: string
  readonly args: readonly string[]
  readonly path: { readonly PATH: string }
}

/** Plays an agent that runs as a program. */
async function playProgram(options: ProgramOptions, prompt: PromptAgent = letSend): Promise<Played> {
  const { program, version, needsNode, tool, mode, files, open } = options
  const binary = await agentBinary(program, version)
  const command = needsNode ? await agentBinary('node') : binary
  const stage = await startScripted(scriptsFor(tool), files)
  try {
    const { home, directory, model } = stage
    const { program: recorder, log } = recorderOf({ name: 'agent', command, folder: home })
    const path = withProgram(home, slowStartSeconds)
    const source = open({ command: recorder, args: needsNode ? [binary] : [], path }, stage)
    const reply = await prompt(source, directory, mode)
    const [installed = ''] = binary.split('/node_modules/')
    const text = cleaned(readFileSync(log, 'utf8').replaceAll(installed, '/agent'), {
      directory,
      home,
      root: home,
      modelURL: model.url,
    })
    return { reply, urls: urlsIn(directory), sent: JSON.stringify(model.requests), lines: text.trim().split('\n') }
  } finally {
    await stage.close()
  }
}

interface Place {
  readonly directory: string
  readonly home: string
  readonly root: string
  readonly modelURL: string
}

/** Replaces what differs from machine to machine. */
function cleaned(text: string, { directory, home, root, modelURL }: Place): string {
  return redact(text, { directory, home, root, serverPort: 4096, modelPort: Number(new URL(modelURL).port) })
    .replaceAll(directory.replaceAll('/', '-'), '-project')
    .replace(/\/tmp\/claude-\d+/g, '/tmp/claude')
    .replace(/\/tmp\/cc-socks\/\d+\.sock/g, '/tmp/cc-socks/1.sock')
}

/** The MCP servers of the README's line for ACP. */
const acpServers: AcpOptions['mcpServers'] = JSON.parse(`{ ${readmeLine('other ACP agents')} }`).mcpServers

const claudeAgent = (version: string): SendingAgent => ({
  recording: `claude/${version}`,
  play: async (prompt) =>
    await playProgram(
      {
        program: 'claude',
        version,
        tool: 'mcp__reply__send_file',
        open: ({ command, path }, stage) => {
          writeFileSync(join(stage.directory, '.mcp.json'), `{ ${readmeLine('Claude Code')} }`)
          return claude({ command, cwd: stage.directory, env: { ...claudeEnv(stage), ...path } })
        },
      },
      prompt,
    ),
})

/** Codex's settings with the README's line, above its tables. */
const sendingCodexFiles: typeof codexFiles = (model) => ({
  '.codex/config.toml': `${readmeLine('Codex, codex-acp')}\n${codexFiles(model)['.codex/config.toml']}`,
})

const codexAgent = (version: string): SendingAgent => ({
  recording: `codex/${version}`,
  play: async (prompt) =>
    await playProgram(
      {
        program: 'codex',
        version,
        tool: 'mcp__reply.send_file',
        files: sendingCodexFiles,
        open: ({ command, path }, stage) =>
          codex({ command, cwd: stage.directory, env: { ...codexEnv(stage), ...path } }),
      },
      prompt,
    ),
})

/** An agent that speaks ACP. */
const acpAgent = (
  recording: string,
  options: Omit<ProgramOptions, 'open'> &
    Pick<AcpOptions, 'protocol' | 'mcpServers'> & { readonly args?: readonly string[] },
  env: (stage: ScriptedStage) => Readonly<Record<string, string>>,
): SendingAgent => ({
  recording: `acp/${recording}${options.protocol === 2 ? '-v2' : ''}`,
  protocol: options.protocol,
  mode: options.mode,
  play: async (prompt) =>
    await playProgram(
      {
        ...options,
        open: ({ command, args, path }, stage) =>
          acpSource({
            command,
            args: [...args, ...(options.args ?? [])],
            cwd: stage.directory,
            protocol: options.protocol,
            env: { ...env(stage), ...path },
            mcpServers: options.mcpServers ?? acpServers,
          }),
      },
      prompt,
    ),
})

const claudeAcp = (version: string, protocol?: 2): SendingAgent =>
  acpAgent(
    `claude-agent-acp-${version}`,
    {
      program: 'claude-acp',
      version,
      protocol,
      needsNode: true,
      tool: 'mcp__reply__send_file',
      mode: 'default',
      // As root it starts only if settings forbid the mode that skips permissions.
      files: () => ({ '.claude/settings.json': '{ "permissions": { "disableBypassPermissionsMode": "disable" } }' }),
    },
    (stage) => ({ ...claudeEnv(stage), CLAUDE_CONFIG_DIR: join(stage.home, '.claude') }),
  )

const codexAcp = (version: string, protocol?: 2): SendingAgent =>
  acpAgent(
    `codex-acp-${version}`,
    {
      program: 'codex-acp',
      version,
      protocol,
      needsNode: true,
      tool: 'mcp__reply.send_file',
      mode: 'read-only',
      files: sendingCodexFiles,
      mcpServers: [],
    },
    codexEnv,
  )

/** Settings of OpenCode whose model takes pictures. */
const seeing = (baseURL: string) => ({
  provider: {
    fake: {
      npm: '@ai-sdk/openai-compatible',
      name: 'Fake',
      options: { baseURL, apiKey: 'x' },
      models: {
        m1: {
          name: 'M1',
          limit: { context: 200_000, output: 8000 },
          tool_call: true,
          attachment: true,
          modalities: { input: ['text', 'image'], output: ['text'] },
        },
      },
    },
  },
})

/** OpenCode 1, which has its attachments in its own result's metadata. */
const openCodeAcp: SendingAgent = {
  recording: 'acp/opencode-1.18.33',
  play: async (prompt = letSend) => {
    const model = await startModel({ scripts: scriptsFor('reply_send_file') })
    const opencode = await prepareOpencode({ model, config: { extra: seeing(model.url) } })
    const folder = mkdtempSync(join(tmpdir(), 'reply-tools-'))
    const { directory, root } = opencode
    const { program, log } = recorderOf({ name: 'agent', command: opencode.command, folder })
    const env = { ...opencode.env, ...withProgram(folder, slowStartSeconds) }
    try {
      const source = acpSource({ command: program, args: ['acp'], cwd: directory, env, mcpServers: acpServers })
      const reply = await prompt(source, directory, undefined)
      const place = { directory, home: `${root}/home`, root, modelURL: model.url }
      const lines = cleaned(readFileSync(log, 'utf8'), place).trim().split('\n')
      return { reply, urls: urlsIn(directory), sent: JSON.stringify(model.requests), lines }
    } finally {
      await model.close()
      await opencode.remove()
      await rm(folder, { recursive: true })
    }
  },
}

const qwen = acpAgent(
  'qwen-code-0.24.4',
  {
    program: 'qwen',
    needsNode: true,
    args: ['--acp', '--auth-type', 'openai'],
    tool: 'mcp__reply__send_file',
    mode: 'default',
  },
  (stage) => ({ ...qwenEnv(stage), QWEN_CODE_LEGACY_MCP_BLOCKING: '1' }),
)

const gemini: SendingAgent = {
  ...acpAgent(
    'gemini-0.61.0',
    {
      program: 'gemini',
      needsNode: true,
      args: ['--experimental-acp'],
      tool: 'mcp_reply_send_file',
      // It starts no MCP servers in a folder that it doesn't trust.
      files: () => ({
        '.gemini/settings.json':
          '{ "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } } }',
      }),
    },
    ({ home, model }) => ({ HOME: home, GEMINI_API_KEY: 'scripted-key', GOOGLE_GEMINI_BASE_URL: model.origin }),
  ),
  hidesCaption: true,
}

const kimi = acpAgent(
  'kimi-code-2.1.0',
  { program: 'kimi', needsNode: true, args: ['acp'], tool: 'mcp__reply__send_file', files: kimiFiles },
  kimiEnv,
)

const kilo = acpAgent(
  'kilo-7.7.9',
  { program: 'kilo', args: ['acp'], tool: 'reply_send_file', files: kiloFiles },
  kiloEnv,
)

/** One for each of our sources, and for each way in which an agent passes on the file. The newest version of each. */
export const mainAgents: readonly SendingAgent[] = [
  claudeAgent('2.1.332'),
  codexAgent(codexVersions[1]),
  claudeAcp('0.101.0', 2),
  gemini,
  openCodeAcp,
]

/** The other agents, and versions before. Qwen Code 0.21 has the tools of a client's servers only after its first prompt. */
export const otherAgents: readonly SendingAgent[] = [
  claudeAgent('2.1.197'),
  codexAgent(codexVersions[0]),
  claudeAcp('0.92.0'),
  claudeAcp('0.101.0'),
  claudeAcp('0.95.0', 2),
  codexAcp('2.5.0'),
  codexAcp('2.6.0'),
  codexAcp('2.5.0', 2),
  codexAcp('2.6.0', 2),
  kilo,
  kimi,
  qwen,
]

export const sendingAgents: readonly SendingAgent[] = [...mainAgents, ...otherAgents]
