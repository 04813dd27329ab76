/** How Discord's client reads one kind of mark. The first rule that matches at a position applies. */
interface Rule {
  readonly pattern: RegExp
  /** Matches only at the beginning of a line. */
  readonly atStart?: true
  /** The displayed text. Undefined if the rule doesn't apply after all. */
  read(found: RegExpExecArray, inside: Inside): string | undefined
}

/** A link that a person can press. */
export interface DiscordLink {
  /** As a person reads it. */
  readonly text: string
  /** Where it leads. */
  readonly url: string
}

interface Inside {
  /** Whether a line begins here, so that quotes, headings and lists apply. */
  readonly isBlock: boolean
  readonly isQuote: boolean
  /** The links found so far. */
  readonly links: DiscordLink[]
}

/** Returns the surroundings of text within a line, where quotes, headings and lists don't begin. */
function insideLine({ links }: Inside): Inside {
  return { isBlock: false, isQuote: true, links }
}

/** Adds a link to those found, and returns its text. */
function addLink(text: string, url: string, { links }: Inside): string {
  links.push({ text, url })
  return text
}

/**
 * The rules of Discord's client, in its order: they are patterns, not a grammar, and differ from GitHub's.
 * https://support.discord.com/hc/en-us/articles/210298617
 */
const rules: readonly Rule[] = [
  { pattern: /^```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][\s\S]*?)\n*```/i, read: (found) => `\n${found[2]}\n` },
  {
    pattern: /^(?: *>>> ([\s\S]*)|( *>(?!>>) [^\n]*(?:\n *>(?!>>) [^\n]*)*\n?))/,
    atStart: true,
    read: ([, all, some], inside) =>
      inside.isQuote
        ? undefined
        : displayedText(all ?? some?.replace(/^ *> /gm, '') ?? '', { ...inside, isBlock: true, isQuote: true }),
  },
  {
    pattern: /^ *#{1,3}\s+((?!#+)[^\n]+?)#*\s*(?:\n|$)/,
    atStart: true,
    read: ([, text = ''], inside) => `${displayedText(text, insideLine(inside))}\n`,
  },
  {
    pattern: /^-# +(?!-#)([^\n]+?) *(?:\n|$)/,
    atStart: true,
    read: ([, text = ''], inside) => `${displayedText(text, insideLine(inside))}\n`,
  },
  {
    pattern: /^( *)(?:([*-])|(\d+\.)) +(?=\S)/,
    atStart: true,
    read: ([, indent, , number]) => `${indent}${number ?? '•'} `,
  },
  { pattern: /^\\([^0-9A-Za-z\s])/, read: ([, letter]) => letter },
  {
    pattern: /^(`+)([\s\S]*?[^`])\1(?!`)/,
    read: ([, , text = '']) => text.replace(/^ (?= *`)|(` *) $/g, '$1'),
  },
  { pattern: /^<(https?:\/\/[^\s>]+)>/, read: ([, url = ''], inside) => addLink(url, url, inside) },
  {
    pattern:
      /^\[((?:\[[^\]]*\]|[^[\]]|\](?=[^[]*\]))*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\.)*?)>?(?:\s+['"][\s\S]*?['"])?\s*\)/,
    // A label that looks like a URL could be misleading.
    read: ([, label = '', url = ''], inside) =>
      /^https?:\/\//.test(url) && !/https?:\/\//.test(label) && label.trim() !== ''
        ? addLink(displayedText(label, { ...insideLine(inside), links: [] }), url, inside)
        : undefined,
  },
  { pattern: /^https?:\/\/[^\s<]+[^<.,:;"')\]\s]/, read: ([url], inside) => addLink(url, url, inside) },
  // https://docs.discord.com/developers/reference#message-formatting
  {
    pattern: /^<(?:(?:@[!&]?|#|t:|a?:\w+:|\/[^\n:>]+:)\d+(?::\w)?|id:(?:customize|browse|guide|linked-roles))>/,
    read: () => '@mention',
  },
  { pattern: /^~~([\s\S]+?)~~(?!_)/, read: ([, text = ''], inside) => displayedText(text, insideLine(inside)) },
  { pattern: /^\|\|([\s\S]+?)\|\|/, read: ([, text = ''], inside) => displayedText(text, insideLine(inside)) },
]

/** The longest match applies. If two are equally long, the first does. */
const emphases: readonly RegExp[] = [
  /^_((?:__|\\[\s\S]|[^\\_])+?)_(?!\w)|^\*(?=\S)((?:\*\*|\s+(?:[^*\s]|\*\*)|[^\s*])+?)\*(?!\*)/,
  /^\*\*((?:\\[\s\S]|[^\\])+?)\*\*(?!\*)/,
  /^__((?:\\[\s\S]|[^\\])+?)__(?!_)/,
]

/** A message as a person reads it, with its markup applied. Lists have bullets, and code becomes its text. */
export function readDiscord(content: string): string {
  return displayedText(content, { isBlock: true, isQuote: false, links: [] }).trim()
}

/** The links of a message, in order. */
export function linksInDiscord(content: string): readonly DiscordLink[] {
  const links: DiscordLink[] = []
  displayedText(content, { isBlock: true, isQuote: false, links })
  return links
}

/** Returns a source as a person reads it. Adds its links to `inside.links`. */
function displayedText(source: string, inside: Inside): string {
  let text = ''
  for (let at = 0; at < source.length; ) {
    const remaining = source.slice(at)
    const isLineStart = inside.isBlock && (at === 0 || source.charAt(at - 1) === '\n')
    const [length, shown] = firstMatch(remaining, isLineStart, inside) ??
      longestEmphasis(remaining, inside) ?? [1, remaining.charAt(0)]
    text += shown
    at += length
  }
  return text
}

/**
 * Returns how much of the source the first rule that applies here reads, and the displayed text. Undefined if none
 * applies.
 */
function firstMatch(remaining: string, isLineStart: boolean, inside: Inside): readonly [number, string] | undefined {
  for (const { pattern, atStart, read } of rules) {
    const found = atStart && !isLineStart ? null : pattern.exec(remaining)
    const shown = found ? read(found, inside) : undefined
    if (found && shown !== undefined) return [found[0].length, shown]
  }
  return undefined
}

/**
 * Returns how much of the source the longest emphasis that begins here covers, and the displayed text. Undefined if
 * none begins.
 */
function longestEmphasis(remaining: string, inside: Inside): readonly [number, string] | undefined {
  const found = emphases.map((pattern) => pattern.exec(remaining)).filter((each) => each !== null)
  const [longest] = found.toSorted((a, b) => b[0].length - a[0].length)
  return longest && [longest[0].length, displayedText(longest[1] ?? longest[2] ?? '', insideLine(inside))]
}
