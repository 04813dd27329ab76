/**
 * One requirement of a contract. Run it with any test runner, for example `for (const { name, run } of
 * sourceContract(options)) test(name, run)`.
 */
export interface Clause {
  /** The title of the test: the implementation's name, the clause, and the reason if it is skipped. */
  readonly name: string
  /** Rejects with an `Error` that describes the failure. A skipped clause is also run, and rejects if it holds. */
  run(): Promise<void>
}

/** One requirement, checked on a stage where an implementation was set up. */
export interface Demand<Stage> {
  /** Its name, also used to skip it. */
  readonly name: string
  /** Whether the stage has everything that the clause needs. Default: it has. */
  readonly needs?: ((stage: Stage) => boolean | Promise<boolean>) | undefined
  /** Rejects with an `Error` that describes the failure. */
  readonly run: (stage: Stage) => Promise<void>
}

/** The implementation to test, and the clauses to skip. */
export interface SourceContractOptions<Stage, Name extends string> {
  /** The implementation's name, used in the titles. */
  readonly name: string
  /** Sets up a fresh implementation. Called once for each clause. */
  readonly setup: () => Stage | Promise<Stage>
  /** Clauses that this implementation can't fulfill, each with a reason. You can't skip a clause that holds. */
  readonly skip?: Partial<Readonly<Record<Name, string>>> | undefined
}

/** Creates the clauses of a contract. Throws for a skip without a reason, or with an unknown clause name. */
export function clausesOf<Stage extends { close(): Promise<void> }, Name extends string>(
  demands: readonly Demand<Stage>[],
  { name, setup, skip = {} }: SourceContractOptions<Stage, Name>,
): readonly Clause[] {
  const reasons = new Map(Object.entries<string | undefined>(skip))
  for (const [clause, reason = ''] of reasons) {
    if (!demands.some((demand) => demand.name === clause)) throw new Error(`Unknown clause to skip: "${clause}".`)
    if (reason.trim() === '') throw new Error(`The clause "${clause}" is skipped without a reason. Give one.`)
  }
  return demands.map((demand) => {
    const reason = reasons.get(demand.name)
    if (reason === undefined)
      return { name: `${name} ${demand.name}`, run: () => runOnStage(setup, demand, checkHolds) }
    return { name: `${name} skips "${demand.name}": ${reason}`, run: () => runOnStage(setup, demand, checkSkip) }
  })
}

/** Sets up a stage, runs the check on it, and closes it. */
async function runOnStage<Stage extends { close(): Promise<void> }>(
  setup: () => Stage | Promise<Stage>,
  demand: Demand<Stage>,
  check: (demand: Demand<Stage>, stage: Stage) => Promise<void>,
): Promise<void> {
  const stage = await setup()
  try {
    await check(demand, stage)
  } finally {
    await stage.close()
  }
}

/** Runs the clause. Rejects if the stage lacks something that it needs. */
async function checkHolds<Stage>(demand: Demand<Stage>, stage: Stage): Promise<void> {
  if (demand.needs && !(await demand.needs(stage)))
    throw new Error('The stage lacks something that this clause needs. Skip the clause with a reason.')
  await demand.run(stage)
}

/** Checks that the skip is needed: the stage lacks something that the clause needs, or the clause fails. */
async function checkSkip<Stage>(demand: Demand<Stage>, stage: Stage): Promise<void> {
  if (demand.needs && !(await demand.needs(stage))) return
  const holds = await demand.run(stage).then(
    () => true,
    () => false,
  )
  if (holds) throw new Error('The clause holds, so it must not be skipped.')
}
