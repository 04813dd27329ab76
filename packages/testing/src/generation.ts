import type { ModelAnswer } from './script.ts'

/**
 * The newest build of OpenCode 2 that runs here. Stable builds send the same events under other names.
 */
export const openCode2Version = '0.0.0-next-16350'

/** Whether a version is of OpenCode 2, whose packages, settings and routes differ from version 1. */
export const isOpenCode2 = (version: string): boolean => /^(?:2\.|0\.0\.0-next-)/.test(version)

/** The tools that OpenCode 2 names otherwise. */
export const renamedTools: Readonly<Record<string, string>> = { bash: 'shell', task: 'subagent' }

/**
 * Returns an answer with its tool calls in the names of a generation. Scripts use those of OpenCode 1, so it is the
 * same object for 1.
 */
export const inGeneration = (generation: 1 | 2, pieces: ModelAnswer): ModelAnswer =>
  generation === 1
    ? pieces
    : pieces.map((piece) =>
        piece.type === 'tool'
          ? { ...piece, tool: renamedTools[piece.tool] ?? piece.tool, input: renameInputs(piece.input) }
          : piece,
      )

/** The inputs that OpenCode 2 names otherwise. */
const renamedInputs: Readonly<Record<string, string>> = { subagent_type: 'agent', filePath: 'path' }

/** Returns a tool's input with OpenCode 2's names of its fields. Anything but an object stays as it is. */
const renameInputs = (input: unknown): unknown =>
  typeof input === 'object' && input !== null
    ? Object.fromEntries(Object.entries(input).map(([name, value]) => [renamedInputs[name] ?? name, value]))
    : input
