import { writeSync } from 'node:fs'
import { Server } from 'node:net'

/**
 * `node --import meter.js` writes to file 3 how much CPU time the program took, in ms, until it ended or listened,
 * which ends it.
 */
process.once('exit', () => {
  const { user, system } = process.cpuUsage()
  writeSync(3, String((user + system) / 1000))
})

Server.prototype.emit = new Proxy(Server.prototype.emit, {
  apply: (emit, server, args) => {
    if (args[0] === 'listening') process.exit(0)
    return Reflect.apply(emit, server, args)
  },
})
