import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheFolder, npmInstall } from '../binary.ts'
import { TestingError } from '../error.ts'

/** Command-line agents that can be fetched, besides OpenCode. */
export type AgentName = 'claude' | 'codex' | 'gemini'

/** The versions that the presets are tested with, and where npm has them. */
export const agentVersions: Readonly<Record<AgentName, string>> = {
  claude: '2.1.197',
  codex: '0.169.0',
  gemini: '0.61.0',
}

/** The package, and its program in it. Claude Code's and Codex's are binaries of the platform. */
const homes: Readonly<Record<AgentName, { readonly what: string; readonly path: string }>> = {
  claude: {
    what: `@anthropic-ai/claude-code-${process.platform}-${process.arch}@${agentVersions.claude}`,
    path: `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
  },
  codex: { what: `@openai/codex@${agentVersions.codex}`, path: '@openai/codex/bin/codex.js' },
  gemini: { what: `@google/gemini-cli@${agentVersions.gemini}`, path: '@google/gemini-cli/bundle/gemini.js' },
}

/**
 * The path of an agent's program: from the cache, else downloaded into it with npm, once. The folder is `agents` beside
 * the one of OpenCode's binaries. Fails with type `install`.
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
