import { judged, numberOn } from "@reins/machine/executor/sandbox/Syscalls"
import type { Attempt, Surroundings } from "./World.js"

/** The families of sockets that are not divided by network namespaces, or that reach the kernel's own parts. */
const families = {
  AF_AX25: 3,
  AF_IPX: 4,
  AF_APPLETALK: 5,
  AF_X25: 9,
  AF_KEY: 15,
  AF_PACKET: 17,
  AF_RDS: 21,
  AF_PPPOX: 24,
  AF_CAN: 29,
  AF_TIPC: 30,
  AF_BLUETOOTH: 31,
  AF_ALG: 38,
  AF_NFC: 39,
  AF_VSOCK: 40,
  AF_KCM: 41,
  AF_QIPCRTR: 42,
  AF_SMC: 43,
  AF_XDP: 44,
  AF_MCTP: 45
} as const

const machine = process.arch === "arm64" ? "arm64" : "x64"
const socket = numberOn(machine, judged.socket)

/** A program of Node that says what a connection says. */
const connected = (options: string): string =>
  `says node -e 'const s=require("net").connect(${options});s.on("error",()=>process.exit(1)).on("data",(d)=>{console.log(String(d));process.exit(0)});setTimeout(()=>process.exit(1),2000)'`

/** Asks the way out of the sandbox for a port that is not the relay's. Any answer is one of somebody else. */
const asked = (port: number): string =>
  `node -e 'const s=require("net").connect("/run/reins/way-out",()=>{s.write(Buffer.from([${port >> 8},${port & 255}]));s.write("GET / HTTP/1.0\\r\\n\\r\\n")});s.on("error",()=>process.exit(1)).on("close",()=>process.exit(1)).on("data",()=>process.exit(0));setTimeout(()=>process.exit(1),2000)'`

/** A request to the relay, on the port that is open in the sandbox, that it must neither pass on nor grant. */
const relayed = (request: string): string =>
  `port=$((0x$(awk '$4 == "0A" { split($2, a, ":"); print a[2]; exit }' /proc/net/tcp))); timeout 3 bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$port'; printf "${request}" >&3; cat <&3' | head -c 300 | grep -qa -e "$canary" -e "^HTTP/1.1 [123]"`

/** Ways to the listeners of the machine, by all of its names and kinds of sockets. */
export const networkAttempts = (world: Surroundings): ReadonlyArray<Attempt> => {
  const { abstractSocket, address, gatewayPort, server, tcp6Port, tcpPort, unixSocket } = world
  const hosts = ["127.0.0.1", "127.0.0.2", "127.1", "0.0.0.0", "localhost", "0x7f000001", "2130706433", address]
  const request = (port: number) => `GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nHost: 127.0.0.1:${port}\\r\\n\\r\\n`
  return [
    ...hosts.map((host) => ({ name: `connect to ${host}`, script: `tcp ${host} ${tcpPort}` })),
    ...["::1", "::ffff:127.0.0.1", "::"].map((host) => ({
      name: `connect to ${host}`,
      script: `tcp ${host} ${host === "::1" ? tcp6Port : tcpPort}`
    })),
    { name: "connect with IPv6 to its own port", script: `tcp ::1 ${tcp6Port}` },
    ...[server.port, gatewayPort].map((port) => ({
      name: `ask the service on port ${port}`,
      script: `timeout 3 bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; head -n 1 <&3' | grep -q HTTP`
    })),
    { name: "connect to a socket of the machine", script: connected(JSON.stringify(unixSocket)) },
    { name: "connect to an abstract socket of the machine", script: connected(`"\\0${abstractSocket}"`) },
    ...[
      "/var/run/docker.sock",
      "/run/docker.sock",
      "/run/dbus/system_bus_socket",
      "/run/systemd/private",
      "/run/systemd/journal/socket",
      "/run/containerd/containerd.sock",
      "/run/snapd.socket",
      "/tmp/.X11-unix"
    ].map((path) => ({
      name: `find ${path}`,
      script: `[ -e ${path} ]`
    })),
    ...[tcpPort, tcp6Port, server.port, gatewayPort, 22, 53, 80].map((port) => ({
      name: `ask the way out for port ${port}`,
      script: asked(port)
    })),
    { name: "replace the way out", script: "rm -f /run/reins/way-out || ( : >/run/reins/other )" },
    ...[
      ["the machine by the address of a request", request(tcpPort)],
      ["the machine by CONNECT", `CONNECT 127.0.0.1:${tcpPort} HTTP/1.1\\r\\nHost: 127.0.0.1:${tcpPort}\\r\\n\\r\\n`],
      ["the machine by the host of a request", `GET / HTTP/1.1\\r\\nHost: 127.0.0.1:${tcpPort}\\r\\n\\r\\n`],
      ["the gateway without a token", `GET /models HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n`],
      [
        "the gateway with an invented loan",
        `GET /000000000000000000000000/models HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer ${world.canary}\\r\\n\\r\\n`
      ],
      [
        "the service by an upgrade",
        `GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n`
      ]
    ].map(([name, words]) => ({ name: `ask the relay for ${name}`, script: relayed(words ?? "") })),
    ...Object.entries(families).map(([name, family]) => ({
      name: `a socket of ${name}`,
      script: `perl -e 'exit(syscall(${socket}, ${family}, 3, 0) >= 0 || syscall(${socket}, ${family}, 2, 0) >= 0 || syscall(${socket}, ${family}, 1, 0) >= 0 ? 0 : 1)'`
    })),
    ...[9, 12, 15, 16].map((protocol) => ({
      name: `a socket of netlink for protocol ${protocol}`,
      script: `perl -e 'exit(syscall(${socket}, 16, 3, ${protocol}) >= 0 ? 0 : 1)'`
    })),
    { name: "a raw socket", script: `perl -e 'exit(syscall(${socket}, 2, 3, 1) >= 0 ? 0 : 1)'` },
    {
      name: "a network besides loopback",
      script: "[ $(grep -c : /proc/net/dev) -gt 1 ] && grep -qv -e lo: -e '|' /proc/net/dev"
    },
    { name: "a route", script: "[ $(wc -l </proc/net/route) -gt 1 ]" },
    {
      name: "a name from DNS",
      script:
        'timeout 5 node -e \'require("dns").resolve4("localhost.",{},(e)=>process.exit(e && e.code==="ECONNREFUSED"?1:0))\''
    },
    {
      name: "the sockets of the machine in /proc/net/tcp",
      script: `grep -qi ':${tcpPort.toString(16).padStart(4, "0")} ' /proc/net/tcp`
    },
    { name: "the sockets of the machine in /proc/net/unix", script: `grep -q ${abstractSocket} /proc/net/unix` }
  ]
}
