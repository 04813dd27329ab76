import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheFolder, npmInstall } from '../binary.ts'
import { TestingError } from '../error.ts'

/**
 * Command-line agents that can be downloaded, besides OpenCode. `claude-acp` and `codex-acp` are adapters for the Agent
 * Client Protocol. `claude-acp` needs Node.js 22 or newer, which `node` is.
 */
export type AgentName = 'claude' | 'claude-acp' | 'codex' | 'codex-acp' | 'gemini' | 'node'

/** The versions that the tests run. */
const agentVersions: Readonly<Record<AgentName, string>> = {
  claude: '2.1.197',
  'claude-acp': '0.101.0',
  codex: '0.169.0',
  'codex-acp': '2.6.0',
  gemini: '0.61.0',
  node: '24.9.0',
}

const nodePlatform = process.platform === 'win32' ? 'win' : process.platform

/** The package, and its program in it. Claude Code's and Codex's are binaries of the platform. */
const homes: Readonly<Record<AgentName, { readonly what: string; readonly path: string }>> = {
  claude: {
    what: `@anthropic-ai/claude-code-${process.platform}-${process.arch}@${agentVersions.claude}`,
    path: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  'claude-acp': {
    what: `@agentclientprotocol/claude-agent-acp@${agentVersions['claude-acp']}`,
    path: '@agentclientprotocol/claude-agent-acp/dist/index.js',
  },
  'codex-acp': {
    what: `@agentclientprotocol/codex-acp@${agentVersions['codex-acp']}`,
    path: '@agentclientprotocol/codex-acp/dist/index.js',
  },
  codex: { what: `@openai/codex@${agentVersions.codex}`, path: '@openai/codex/bin/codex.js' },
  gemini: { what: `@google/gemini-cli@${agentVersions.gemini}`, path: '@google/gemini-cli/bundle/gemini.js' },
  node: {
    what: `node-${nodePlatform}-${process.arch}@${agentVersions.node}`,
    path: `node-${nodePlatform}-${process.arch}/bin/${process.platform === 'win32' ? 'node.exe' : 'node'}`,
  },
}

/**
 * Returns the path of an agent's program. Downloads it into the cache with npm if it is missing there. The cache is
 * `agents`, beside the folder of OpenCode's binaries. Rejects with type `install`.
 */
export const agentBinary = async (name: AgentName): Promise<string> => {
  const { what, path } = homes[name]
  const folder = join(dirname(cacheFolder()), 'agents', `${name}@${agentVersions[name]}`)
  const binary = join(folder, 'node_modules', path)
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
  throw new TestingError('install', `${what} has no ${path}: this platform is not supported.`)
}
