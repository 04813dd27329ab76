import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheFolder, npmInstall, npmNewest } from '../binary.ts'
import { TestingError } from '../error.ts'

/**
 * Command-line agents that can be downloaded, besides OpenCode. `claude-acp` and `codex-acp` are adapters for the Agent
 * Client Protocol. `claude-acp`, `kimi` and `qwen` need Node.js 22 or newer, which `node` is.
 */
export type AgentName = 'claude' | 'claude-acp' | 'codex' | 'codex-acp' | 'gemini' | 'kilo' | 'kimi' | 'node' | 'qwen'

/** The versions that the tests run and the recordings come from. */
const agentVersions: Readonly<Record<AgentName, string>> = {
  claude: '2.1.197',
  'claude-acp': '0.101.0',
  codex: '0.169.0',
  'codex-acp': '2.6.0',
  gemini: '0.61.0',
  kilo: '7.7.9',
  kimi: '2.1.0',
  node: '24.9.0',
  qwen: '0.24.4',
}

const nodePlatform = process.platform === 'win32' ? 'win' : process.platform

/**
 * Each agent's npm package, and the path of its program below `node_modules`. Claude Code is a binary of the platform.
 */
const packages: Readonly<Record<AgentName, { readonly name: string; readonly program: string }>> = {
  claude: {
    name: `@anthropic-ai/claude-code-${process.platform}-${process.arch}`,
    program: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  'claude-acp': {
    name: '@agentclientprotocol/claude-agent-acp',
    program: '@agentclientprotocol/claude-agent-acp/dist/index.js',
  },
  'codex-acp': { name: '@agentclientprotocol/codex-acp', program: '@agentclientprotocol/codex-acp/dist/index.js' },
  codex: { name: '@openai/codex', program: '@openai/codex/bin/codex.js' },
  gemini: { name: '@google/gemini-cli', program: '@google/gemini-cli/bundle/gemini.js' },
  kilo: {
    name: `@kilocode/cli-${nodePlatform}-${process.arch}`,
    program: `@kilocode/cli-${nodePlatform}-${process.arch}/bin/kilo`,
  },
  kimi: { name: '@moonshot-ai/kimi-code', program: '@moonshot-ai/kimi-code/dist/main.mjs' },
  node: {
    name: `node-${nodePlatform}-${process.arch}`,
    program: `node-${nodePlatform}-${process.arch}/bin/${process.platform === 'win32' ? 'node.exe' : 'node'}`,
  },
  qwen: { name: '@qwen-code/qwen-code', program: '@qwen-code/qwen-code/cli.js' },
}

/** Resolves with the newest version of an agent on npm. Rejects with type `install` if npm names none. */
export const newestAgent = async (name: AgentName): Promise<string> => await npmNewest(packages[name].name)

/**
 * Resolves with the path of an agent's program. Downloads it into the cache with npm if it is missing there. The cache
 * is `agents`, beside the folder of OpenCode's binaries. Safe to call concurrently. Default version: the one in
 * `agentVersions`. Rejects with type `install` if it can't be downloaded, or if the package lacks the program.
 */
export const agentBinary = async (name: AgentName, version = agentVersions[name]): Promise<string> => {
  const { name: packageName, program } = packages[name]
  const what = `${packageName}@${version}`
  const folder = join(dirname(cacheFolder()), 'agents', `${name}@${version}`)
  const binary = join(folder, 'node_modules', program)
  if (existsSync(binary)) return binary
  const draft = `${folder}.${process.pid}-${Date.now()}`
  try {
    await mkdir(draft, { recursive: true })
    await npmInstall(draft, what)
    // A rename is atomic: another process sees the whole folder or none.
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(binary)) throw error
    })
  } catch (cause) {
    const cure = 'check the npm registry, or set XDG_CACHE_HOME to a folder whose cache has it'
    throw new TestingError('install', `${what} could not be installed: ${cure}.`, { cause })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  if (existsSync(binary)) return binary
  throw new TestingError('install', `${what} has no ${program}: this platform is not supported.`)
}
